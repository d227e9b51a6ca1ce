/** How much of a program's words an open rule must name itself, program by program. */

import type { Argument } from "./argument.ts";
import { rowOf, WITH_SUBCOMMANDS } from "./option-table.ts";
import { readOptions } from "./options.ts";

/** Programs that run a script, a module or a package named by their first operand; their own options come before it. */
const RUN_SCRIPTS =
  /^(?:python(?:\d[\d.]*)?|pypy3?|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua(?:jit)?|npx|bunx|uvx|pipx|Rscript|julia|java|dotnet)$/i;
/** Words of these before the operand: they only print. */
const PRINT_ONLY = "--version -V -v --help -h";
/** Programs of which an open rule covers nothing: any word may be code, a program to run, or a file to write. */
const LITERAL_ONLY: ReadonlySet<string> = new Set(
  (
    "sh bash dash ash zsh ksh mksh csh tcsh fish rbash busybox toybox pwsh powershell cmd wsl eval source . exec command builtin " +
    "env sudo doas su runuser setpriv chroot unshare nsenter setarch proot fakeroot firejail bwrap systemd-run systemctl nspawn " +
    "timeout nice ionice nohup stdbuf setsid taskset chrt prlimit time flock watch entr parallel script rlwrap expect unbuffer " +
    "xvfb-run strace ltrace gdb lldb valgrind perf find xargs ssh scp sftp rsync rsh mosh nc ncat netcat socat telnet ftp lftp tftp " +
    "wget aria2c http https axel less more most man info pinfo vi vim nvim view vimdiff rvim ex ed red emacs emacsclient nano pico " +
    "micro joe mg tar bsdtar gtar zip unzip 7z 7za 7zr cpio ar rar unrar pax shar split csplit dd install tee logsave sponge ld gcc cc " +
    "g++ c++ clang clang++ rustc javac ghc ghci as tcc gawk mawk nawk awk sed gsed m4 tclsh wish ocaml guile scheme sbcl clisp gforth " +
    "erl iex elixir R octave gnuplot maxima sage gp gs dc jshell jjs jrunscript osascript psql mysql mariadb sqlite3 mongosh mongo " +
    "redis-cli at batch crontab run-parts start-stop-daemon screen tmux dtach byobu zellij kubectl helm podman nerdctl vagrant ansible " +
    "ansible-playbook terraform tofu gmake bmake nmake ninja cmake ctest meson bazel bazelisk just task rake gradle gradlew mvn " +
    "ant sbt lein scons pip pip3 uv poetry pipenv conda mamba gem bundle bundler composer apt apt-get dpkg yum dnf rpm pacman apk brew " +
    "snap flatpak port nix nix-shell nix-env guix hg svn jj bzr cvs fossil darcs ag ack pt ugrep fzf sk openssl gpg gpg2 ip nmap tcpdump " +
    "tshark awk busctl dbus-send capsh cobc check_by_ssh choom cpan distcc dvips easy_install facter genie git-shell gcore hping3 " +
    "ispell jtag ksshell latex pdflatex lualatex xelatex tex luatex bibtex ltx loginctl lua-jit multitime mutt nawk neofetch nsupdate " +
    "openvpn pdb perlbug pexec pg pidstat pkexec posh pry puppet pwntools restic rpmquery rpmverify rview run-mailcap rpmdb service slsh " +
    "softlimit sqlmap start-stop-daemon stdbuf sysctl tasksh tbl tic timedatectl torify torsocks troff groff nroff unlzma uudecode update-alternatives " +
    "varnishncsa vipw vigr visudo wall whiptail dialog wine xdg-open open start xdotool xpad xterm zathura zsoelim zypper mount umount " +
    "insmod modprobe ldconfig patch ln link diff3 sdiff ptx bat batcat ctags cross-env concurrently hyperfine nodemon watchexec chronic " +
    "faketime eatmydata gosu su-exec tini dumb-init sshpass autossh proxychains proxychains4 numactl linux32 linux64 caffeinate"
  ).split(" "),
);

/** What is known of a program by its name alone. */
type Program = {
  readonly name: string;
  readonly runsScripts: boolean;
  readonly isLiteralOnly: boolean;
  readonly row: string | undefined;
};

/** Of the words that stood for programs lately. */
const programs = new Map<string, Program>();
const MAX_PROGRAMS = 256;
/** A longer piece would keep the whole command that it was cut from. */
const MAX_PROGRAM_CHARACTERS = 12;

function programOf(word: string): Program {
  const known = programs.get(word);
  if (known !== undefined) return known;
  const name = programName(word);
  const runsScripts = RUN_SCRIPTS.test(name);
  const program = { name, runsScripts, isLiteralOnly: LITERAL_ONLY.has(name), row: rowOf(name) };
  if (word.length > MAX_PROGRAM_CHARACTERS) return program;
  if (programs.size >= MAX_PROGRAMS) programs.clear();
  programs.set(word, program);
  return program;
}

/** At least 1: the program itself. */
export function namedWords(words: readonly Argument[]): number {
  const program = programOf(words[0]?.text ?? "");
  const { name, row } = program;
  if (WITH_SUBCOMMANDS.has(name)) return ofSubcommand(program, words);
  if (row !== undefined) return Math.max(1, readOptions(words, 1, row).named);
  if (name === "sed" || name === "gsed") return ofSed(words);
  if (/^[gmn]?awk$/.test(name)) return ofAwk(words);
  if (program.runsScripts) return ofScript(name, words);
  return program.isLiteralOnly ? words.length : 1;
}

/** The name by which a program is known whatever folder it is called from, as file systems without case find it. */
function programName(word: string): string {
  if (/^[a-z0-9]+$/.test(word)) return word;
  const name = word.slice(word.lastIndexOf("/") + 1).toLowerCase();
  return name.replace(/\.(?:exe|cmd|bat|com)$/, "");
}

/** Whether the program takes what it does from its standard input when it is given as little as this. */
export function readsInstructions(words: readonly Argument[]): boolean {
  const { runsScripts, isLiteralOnly } = programOf(words[0]?.text ?? "");
  if (!runsScripts && !isLiteralOnly) return false;
  const others = words.slice(1);
  return (
    others.every(({ text }) => text === undefined || text.startsWith("-")) ||
    others.some(({ text = "" }) => /^-\w*[si]\w*$|^-$|^\/dev\/|^\/proc\//.test(text))
  );
}

/** Whether what the program does depends on files beside those it names: another folder makes it another command. */
export function dependsOnFolder(words: readonly Argument[]): boolean {
  const path = words[0]?.text ?? "";
  if (path.includes("/") && !path.startsWith("/")) return true;
  const { name, runsScripts, isLiteralOnly } = programOf(path);
  if (/^(?:npx|bunx|uvx|pipx)$/.test(name)) return false;
  return name === "git" || runsScripts || isLiteralOnly;
}

function ofSubcommand({ name, row: own = "" }: Program, words: readonly Argument[]): number {
  const before = readOptions(words, 1, own, true);
  if (before.named > 0) return words.length;
  if (before.operandAt >= words.length) return 1;
  const row = rowOf(name, words[before.operandAt]?.text ?? "");
  return row === undefined ? words.length : Math.max(1, readOptions(words, before.operandAt + 1, row).named);
}

function ofScript(program: string, words: readonly Argument[]): number {
  if (program.startsWith("py") && words[1]?.text === "-m" && words[2]?.shape === "text") return 3;
  const { named, operandAt } = readOptions(
    words,
    1,
    program === "npx" ? `${PRINT_ONLY} -y --yes --no` : PRINT_ONLY,
    true,
  );
  if (named > 0 || words[operandAt - 1]?.text === "--") return words.length;
  return operandAt >= words.length ? 1 : operandAt + 1;
}

const SED_OPTIONS = "-n -E -r -s -u -z --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix";
/** Prints, deletes or substitutes lines; nothing that writes a file (`w`) or runs what it made (`e`). */
const SED_SCRIPT =
  /^(?:(?:\d+|\$)(?:,(?:\d+|\$|\+\d+))?|\/(?:[^\\/\n[]|\\[^\n])*\/)?(?:[pdq=]|s(?:\/(?:[^\\/\n[]|\\[^\n])*\/(?:[^\\/\n]|\\[^\n])*\/|\|(?:[^\\|\n[]|\\[^\n])*\|(?:[^\\|\n]|\\[^\n])*\||#(?:[^\\#\n[]|\\[^\n])*#(?:[^\\#\n]|\\[^\n])*#)[gpiI0-9]*)$/;

function ofSed(words: readonly Argument[]): number {
  return ofCode(words, SED_OPTIONS, (code) => code.length <= 1_000 && SED_SCRIPT.test(code));
}

/** Without these characters an awk program has no call, pipe, redirect or load. */
function ofAwk(words: readonly Argument[]): number {
  return ofCode(words, "-F:", (code) => !/[(|<>@`\\\n]|getline/.test(code));
}

/** Options, then code, then files, which may not look like options. */
function ofCode(words: readonly Argument[], row: string, isHarmless: (code: string) => boolean): number {
  const { named, operandAt } = readOptions(words, 1, row, true);
  const code = words[operandAt]?.text;
  if (named > 0 || code === undefined || !isHarmless(code)) return words.length;
  return Math.max(1, readOptions(words, operandAt + 1, "").named);
}
