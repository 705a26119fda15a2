//! The roles of options.

use super::keys;

/// Defines the roles: those with a value, those with which a command does less, and the others.
macro_rules! roles {
    (
        $(#[$about:meta])*
        value { $($(#[$of_value:meta])+ $value:ident,)+ }
        limit { $($(#[$of_limit:meta])+ $limit:ident,)+ }
        other { $($(#[$of_other:meta])+ $other:ident,)+ }
    ) => {
        $(#[$about])*
        pub enum Role { $($(#[$of_value])+ $value,)+ $($(#[$of_limit])+ $limit,)+ $($(#[$of_other])+ $other,)+ }

        impl Role {
            /// Whether an option of this role takes a value.
            pub const fn has_value(self) -> bool {
                matches!(self, $(Self::$value)|+)
            }

            /// Whether a command does less with an option of this role.
            pub const fn limits(self) -> bool {
                matches!(self, $(Self::$limit)|+)
            }
        }
    };
}

roles! {
    /// What an option states about the words, the files or the data of a command.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    value {
        /// Its value is the archive.
        Archive,
        /// Its value is the folder that is written to, or in which the program works.
        Folder,
        /// Its value is what is mounted.
        Source,
        /// Its value is a folder of this machine that a container gets: `/srv:/data:ro`, `type=bind,src=/srv,dst=/data`.
        Mounts,
        /// Its value is a glob of names that are left out.
        Excludes,
        /// Its value is a glob of names that are searched; with `!`, that are left out.
        Includes,
        /// Its value is the ending of the names that are searched.
        Endings,
        /// Its value is a glob of the names of the found files.
        Names,
        /// Its value is a glob of the paths of the found files.
        Paths,
        /// Its value, and the word after it, belong to the option.
        TakesTwo,
        /// Its value is the method of a request.
        Method,
        /// Its value is data of a request.
        Data,
        /// Its value is a file that is uploaded.
        Uploads,
        /// Its value is a header line of a request.
        Headers,
        /// Its value is the address of a request.
        Address,
        /// Its value is a part of the address of a request.
        Query,
        /// Its value is how often a request is sent again, such as `--retry`.
        Retries,
        /// Its value is a file that describes what it acts on.
        Manifests,
        /// Its value is the name of a project.
        Project,
        /// Its value is a file with variables of the environment.
        Environment,
        /// Its value states variables.
        Variables,
        /// Its value is a list of tags.
        Tags,
        /// Its value is the name of a module.
        Module,
        /// Its value is the arguments of a module, or of a command that runs.
        Arguments,
        /// Its value is lines of a makefile.
        Lines,
        /// Its value is the host of the command.
        Hosts,
        /// Its value separates the items of a list.
        Delimiter,
        /// Its value separates the columns of an item.
        Columns,
        /// Its value states that the first item of a list is its name.
        Header,
        /// Its value is the only file, which is not named after an address.
        NamesOutput,
        /// Its value is a file with commands or code.
        ScriptFile,
        /// Its value is the program that runs commands, or one of its words.
        Launcher,
        /// Its value is the namespace of a workload.
        Namespace,
        /// Its value is the path of a socket.
        Socket,
        /// Its value is a recipient of a message.
        Recipients,
        /// Its value is text, a number or a file that is only read, although its name suggests more.
        Text,
        /// Its value is a program, a command, code or a library, which runs.
        Starts,
        /// Its value is a file, a folder or an address whose content can make the program run something.
        Configures,
        /// Its value is a file or a folder that is written in a dry run, too, and where nothing else is done.
        Written,
    }
    limit {
        /// Names or counts are printed in place of contents.
        NamesOnly,
        /// It lists the archive.
        ListsArchive,
        /// The result goes to standard output.
        ToOutput,
        /// Its variables are removed.
        Empties,
        /// Nothing is written.
        ReadsOnly,
        /// The data is a part of the address.
        DataInAddress,
        /// Standard input is not read.
        IgnoresInput,
        /// No command runs.
        Idle,
    }
    other {
        /// Its value is replaced by an item.
        Placeholder,
        /// Its value is the maximum number of items, by default one.
        MaxItems,
        /// Options whose value limits the length of a command.
        MaxChars,
        /// Its value is the maximum number of lines, by default one.
        MaxLines,
        /// Everything below a folder is copied or searched.
        Recursive,
        /// Names that begin with a dot are listed.
        Hidden,
        /// The sources are removed.
        Removes,
        /// The path of a source is kept below the target.
        KeepsPaths,
        /// Links to the sources are made in place of copies.
        Links,
        /// Links are copied as links.
        KeepsLinks,
        /// What links lead to is copied.
        FollowsLinks,
        /// A folder gets a second path.
        Joins,
        /// A file is named after the last part of its address.
        NamesFiles,
        /// It unpacks.
        Unpacks,
        /// It packs.
        Packs,
        /// A command follows, which runs once for each found file, or for all of them after `+`.
        RunsEach,
        /// A command follows, which runs once for all found files.
        RunsOnce,
        /// Items are separated by null characters.
        NullDelimited,
        /// The command is quoted.
        Quotes,
        /// Names in the archive may begin with `/`.
        Absolute,
        /// It takes no value, although its name suggests one.
        Flag,
    }
}

keys::choices! { Role }
