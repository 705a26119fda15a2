# take_options SHORT LONG WORDS…: skips the options that stand first. SHORT holds the letters that take a value, LONG
# the names. Leaves the other words in `rest`, the letters seen in `flags`, values in `value[letter or name]`.
take_options() {
  local short=$1 long=" $2 " word letter name
  shift 2
  flags='' rest=()
  unset value
  declare -gA value=()
  while (($#)); do
    word=$1
    case $word in
    --) shift; break ;;
    --*=*) name=${word#--}; value[${name%%=*}]=${word#*=}; shift ;;
    --*)
      name=${word#--}
      shift
      if [[ $long == *" $name "* ]]; then value[$name]=${1-}; shift; else flags+=" $name "; fi
      ;;
    -?*)
      shift
      word=${word#-}
      while [[ -n $word ]]; do
        letter=${word:0:1} word=${word:1}
        if [[ $short == *"$letter"* ]]; then
          if [[ -n $word ]]; then value[$letter]=${word#=}; else value[$letter]=${1-}; shift; fi
          break
        fi
        flags+=$letter
      done
      ;;
    *) break ;;
    esac
  done
  rest=("$@")
}
