/**
 * Programs that can run other programs or write files through their options, and the words of each that do neither: what an
 * open rule such as `shell(git log *)` may cover. A program without a row does what its name says, whatever its options.
 *
 * A row is a list of words: `-x` and `--long` take no value, `-x:` takes one, `--long=` may take one after `=`, `-#` is a
 * number. `!apart`: a value is always the next word. `!whole`: letters are not combined either. `@...` names a check of `OPERANDS` for all other words; without it any may follow.
 */

export const OPERANDS: { readonly [name: string]: (operand: string, at: number) => boolean } = {
  none: () => false,
  one: (_operand, at) => at === 0,
  /** A usual remote, then branches: no transport that runs a program (`ext::`), no folder of another repository. */
  remote: (operand, at) => (at === 0 ? /^(?:origin|upstream)$/ : /^\+?\w[\w./+:@^~-]*$/).test(operand),
  shown: (operand, at) => (at === 0 ? /^(?:show|get-url)$/ : /^\w+$/).test(operand),
  format: (operand) => operand.startsWith("+"),
  web: (operand) => /^https?:\/\/[\w.:/?&=%,+~-]+$/.test(operand),
  target: (operand) => !/[=:]/.test(operand),
  /** What `cargo clippy --` hands to the compiler: which lints count. */
  lints: (operand) => /^-[ADFW](?:[a-z][\w:-]*)?$|^[a-z][\w:-]*$/.test(operand),
  /** What `cargo fmt --` hands to the formatter. */
  check: (operand) => operand === "--check",
};

const SHOWS_COMMITS =
  "-# -n: -p -u -s -q -i -z -E -F -P -S: -G: -L: -M= -C= -U= -w -b -R -a -r -t -m -c --oneline --stat= --shortstat --numstat " +
  "--name-only --name-status --graph --all --branches= --tags= --remotes= --decorate= --no-decorate --pretty= --format= --date= " +
  "--since: --until: --after: --before: --author: --committer: --grep: --max-count: --skip: --merges --no-merges --first-parent " +
  "--reverse --follow --patch --no-patch --raw --summary --color= --no-color --cached --staged --check --word-diff= --unified= " +
  "--diff-filter: --minimal --patience --histogram --ignore-all-space --ignore-space-change --ignore-blank-lines --no-renames " +
  "--find-renames= --abbrev= --abbrev-commit --no-abbrev-commit --relative= --full-index --quiet --exit-code --merge-base " +
  "--topo-order --date-order --left-right --cherry-pick --cherry-mark --boundary --no-ext-diff --no-textconv --dirstat= " +
  "--compact-summary --function-context -W --pickaxe-regex --pickaxe-all --all-match --invert-grep --no-walk --count --cc";

const OPTION_TABLE: { readonly [program: string]: string } = {
  git: "--no-pager -P --no-optional-locks --version",
  "git log": SHOWS_COMMITS,
  "git show": SHOWS_COMMITS,
  "git diff": SHOWS_COMMITS,
  "git shortlog": `${SHOWS_COMMITS} -e --summary --numbered --email`,
  "git rev-list": SHOWS_COMMITS,
  "git reflog": SHOWS_COMMITS,
  "git whatchanged": SHOWS_COMMITS,
  "git status":
    "-s -b -u= -z -v --short --branch --porcelain= --long --untracked-files= --ignored= --show-stash --no-renames --column= --ahead-behind --no-ahead-behind",
  "git blame":
    "-L: -w -e -s -l -t -f -n -p -M= -C= -c --date: --since: --porcelain --line-porcelain --show-email --color-lines",
  "git branch":
    "-a -r -v -l -d -D -m -M -f -u: -q --list --all --remotes --verbose --show-current --merged --no-merged --contains --no-contains --sort: --format: --color= --no-color --delete --move --set-upstream-to: --track= --no-track --points-at:",
  "git tag":
    "-l -n= -d -f -a -m: --list --sort: --contains --merged --format: --points-at: --delete --annotate --message:",
  "git remote": "-v --verbose @shown",
  "git stash":
    "-u -a -q -k -p -m: --include-untracked --all --keep-index --message: --index --quiet --stat --patch --only-untracked",
  "git rev-parse":
    "-q --abbrev-ref= --short= --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --is-inside-work-tree --verify --symbolic --symbolic-full-name --all --branches= --tags= --remotes= --quiet --absolute-git-dir --is-bare-repository --show-superproject-working-tree",
  "git ls-files":
    "-c -d -m -o -i -s -u -z -t -v -k -x: --cached --deleted --modified --others --ignored --stage --unmerged --exclude: --exclude-standard --full-name --error-unmatch --directory --no-empty-directory --eol",
  "git ls-tree": "-r -t -d -l -z --name-only --name-status --long --full-name --full-tree --abbrev= --format:",
  "git cat-file": "-t -s -p -e",
  "git describe":
    "--tags --all --always --long --dirty= --abbrev= --match: --exclude: --exact-match --first-parent --contains",
  "git merge-base": "-a --all --octopus --is-ancestor --fork-point --independent",
  "git name-rev": "--tags --name-only --always --all",
  "git grep":
    "-n -i -l -L -c -w -v -h -H -E -F -P -G -o -p -W -q -z -e: -A: -B: -C: -m: --line-number --ignore-case --files-with-matches --count --word-regexp --fixed-strings --extended-regexp --perl-regexp --cached --untracked --and --or --not --max-depth: --break --heading --color= --no-color --name-only --column",
  "git check-ignore": "-v -n -q -z --verbose --no-index --quiet --non-matching",
  "git add":
    "-A -u -n -v -f -N --all --update --dry-run --verbose --force --intent-to-add --renormalize --ignore-errors",
  "git rm": "-r -f -n -q --cached --force --dry-run --quiet --ignore-unmatch",
  "git mv": "-f -n -k -v --force --dry-run --verbose",
  "git commit":
    "-a -m: -q -v -s -n -o -i --all --message: --amend --no-edit --allow-empty --allow-empty-message --signoff --quiet --verbose --dry-run --author: --date: --no-gpg-sign --fixup: --squash: --trailer: --status --no-status --short --porcelain --only --include --reset-author --no-verify",
  "git checkout":
    "-b: -B: -f -q -t -d --force --quiet --track= --no-track --detach --ours --theirs --orphan: --guess --no-guess --merge",
  "git switch":
    "-c: -C: -f -q -t -d --create: --force-create: --force --quiet --track= --no-track --detach --orphan: --discard-changes --merge --guess --no-guess",
  "git restore": "-s: -S -W -q --source: --staged --worktree --quiet --ours --theirs --merge --ignore-unmerged",
  "git reset": "-q --soft --mixed --hard --merge --keep --quiet",
  "git merge":
    "-q -n --ff --no-ff --ff-only --squash --no-squash --no-edit --abort --continue --quit --stat --no-stat --quiet -m: --allow-unrelated-histories",
  "git cherry-pick": "-n -x -s --no-commit --abort --continue --quit --skip --ff --signoff --allow-empty -m:",
  "git revert": "-n -s --no-commit --no-edit --abort --continue --quit --skip --signoff -m:",
  "git fetch":
    "-a -p -P -q -v -n -t -f -4 -6 -j: --all --prune --prune-tags --tags --no-tags --depth: --deepen: --unshallow --quiet --verbose --dry-run --force --jobs: @remote",
  "git pull":
    "-q -v -n -r --rebase= --no-rebase --ff --no-ff --ff-only --tags --prune --quiet --verbose --autostash --no-autostash --all @remote",
  "git push":
    "-u -f -q -v -n -d --set-upstream --force --force-with-lease= --tags --follow-tags --all --delete --dry-run --quiet --verbose --porcelain --prune --atomic --no-verify @remote",
  "git ls-remote": "-h -t -q --heads --tags --refs --quiet --symref --exit-code @remote",

  npm: "--version -v",
  "npm test": "-s --silent --if-present -w: --workspace: --workspaces",
  "npm run": "-s --silent --if-present -w: --workspace: --workspaces",
  "npm start": "-s --silent --if-present",
  "npm ls": "-a -g -l --all --global --long --json --parseable --depth: --omit: --prod --dev -w: --workspaces",
  "npm list": "-a -g -l --all --global --long --json --parseable --depth:",
  "npm view": "--json",
  "npm outdated": "-a -l --json --long --all",
  "npm audit": "--json --omit: --production --audit-level: @none",
  "npm ci": "--ignore-scripts --no-audit --no-fund --omit: --prefer-offline --offline @none",
  "npm install":
    "-D -E -P -O --save-dev --save-exact --save --no-save --save-optional --save-peer --ignore-scripts --no-audit --no-fund --omit: --prefer-offline --offline -w: --workspace: --legacy-peer-deps",
  pnpm: "--version -v",
  "pnpm test": "-r --recursive --silent --if-present",
  "pnpm run": "-r --recursive --silent --if-present",
  "pnpm install": "--frozen-lockfile --offline --prefer-offline --ignore-scripts",
  "pnpm list": "-r --depth: --json",
  yarn: "--version -v",
  "yarn test": "--silent -s",
  "yarn run": "--silent -s",
  "yarn install": "--frozen-lockfile --immutable --offline --ignore-scripts",
  cargo: "--version -V --list --offline --locked --frozen -q -v",
  go: "",
  "go version": "@none",
  "go env": "-json -changed",
  "go list": "-json= -m -f: -deps -test -e -u",
  "go test":
    "-v -race -short -cover -json -failfast -run: -bench: -benchmem -count: -timeout: -parallel: -cpu: -tags: -skip: -shuffle: -list: -coverpkg: -covermode:",
  "go build": "-v -race -n -x -tags: -trimpath -mod:",
  "go vet": "-v -json -tags:",
  "go fmt": "-n -x",
  docker: "--version -v",
  "docker ps": "-a -q -l -n: -s -f: --all --quiet --latest --last: --size --filter: --format: --no-trunc",
  "docker images": "-a -q -f: --all --quiet --filter: --format: --no-trunc --digests",
  "docker logs": "-f -t -n: --follow --timestamps --tail: --since: --until: --details",
  "docker inspect": "-f: -s --format: --size --type:",
  "docker version": "-f: --format:",
  "docker info": "-f: --format:",

  make: "-s -k -n -B -q -j= -i -w --silent --quiet --keep-going --dry-run --just-print --always-make --question --ignore-errors --jobs= --version --no-print-directory @target",
  rg: "-# -n -i -l -c -w -v -F -e: -g: -t: -T: -A: -B: -C: -U -S -s -o -x -H -I -N -u -0 -L -m: -d: -r: -p -P -M: -j: -q -b -a --files --hidden --no-ignore --json --glob: --iglob: --type: --type-not: --type-list --stats --sort: --sortr: --max-count: --max-depth: --no-heading --heading --color: --colors: --line-number --no-line-number --ignore-case --smart-case --case-sensitive --files-with-matches --files-without-match --count --count-matches --word-regexp --line-regexp --fixed-strings --multiline --multiline-dotall --no-filename --with-filename --context: --after-context: --before-context: --replace: --only-matching --invert-match --regexp: --follow --null --pretty --pcre2 --trim --vimgrep --column --no-messages --quiet --text --max-columns: --max-filesize: --threads: --unrestricted --no-config --no-ignore-vcs --passthru --crlf --version --help --one-file-system",
  fd: "-t: -e: -H -I -a -d: -g -i -s -E: -0 -L -p -F -q -u -1 --type: --extension: --hidden --no-ignore --max-depth: --min-depth: --exclude: --glob --ignore-case --case-sensitive --fixed-strings --absolute-path --full-path --follow --color: --max-results: --changed-within: --changed-before: --size: --version --print0 --quiet",
  sort: "-n -r -u -k: -t: -h -f -b -d -g -i -M -R -V -c -C -s -z -m --reverse --numeric-sort --unique --key: --field-separator: --human-numeric-sort --ignore-case --version-sort --stable --check= --zero-terminated --general-numeric-sort --month-sort --random-sort --merge --ignore-leading-blanks --dictionary-order --version --help",
  uniq: "-c -d -u -i -D -z -f: -s: -w: --count --repeated --unique --ignore-case --skip-fields: --skip-chars: --check-chars: --zero-terminated @one",
  date: "-u -I= -R -d: -r: --utc --universal --date: --iso-8601= --rfc-3339: --rfc-email --reference: --version @format",
  tree: "!apart -a -d -L: -I: -P: -f -s -h -D -C -n -F -i -J -p -t -r -l -N -Q -v --dirsfirst --gitignore --noreport --prune --filelimit: --charset: --matchdirs --du --si --version",
  file: "-b -i -L -h -k -N -0 --mime --mime-type --mime-encoding --brief --dereference --version",
  diff: "-# -u -r -q -y -w -b -B -i -N -a -t -T -s -e -n -c -d -p -U: -C: -W: -x: -I: --brief --unified= --context= --recursive --color= --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --new-file --text --report-identical-files --exclude: --width: --minimal --strip-trailing-cr --suppress-common-lines --label: --ignore-matching-lines: --expand-tabs --version",
  shuf: "-e -n: -r -z -i: --echo --head-count: --repeat --zero-terminated --input-range: --version --help",
  iconv: "-f: -t: -c -s -l --from-code: --to-code: --list --silent --version --help",
  xxd: "!whole -l: -s: -c: -g: -p -u -b -i -e -a @one",
  curl: "-s -S -f -L -I -i -v -g -4 -6 -m: --silent --show-error --fail --fail-with-body --location --head --include --verbose --max-time: --connect-timeout: --compressed --max-redirs: --retry: --retry-delay: --http1.1 --http2 --ipv4 --ipv6 --no-progress-meter --no-buffer -N -V --version @web",
  yq: "-r -e -j -M -C -P -N -p: -o: --raw-output --exit-status --no-colors --colors --prettyPrint --no-doc --version",
};

const CARGO =
  "--release --workspace -p: --package: --all --all-targets --all-features --no-default-features --features: --lib --bins --tests --examples --doc -q -v --quiet --verbose --locked --offline --frozen -j: --jobs: --no-run --no-fail-fast --check --bin: --test: --example: --bench: --keep-going --no-deps --depth: --edges: --message-format: --profile:";
const CARGO_ROWS: ReadonlyMap<string, string> = new Map([
  ...["build", "check", "test", "tree", "doc", "metadata", "run", "bench", "clean"].map(
    (name) => [name, CARGO] as const,
  ),
  ["clippy", `${CARGO} @lints`],
  ["fmt", `${CARGO} @check`],
]);

/** Subcommands of a program that has some; the program's own row is what may stand before them. */
export function rowOf(program: string, subcommand?: string): string | undefined {
  if (subcommand === undefined) return Object.hasOwn(OPTION_TABLE, program) ? OPTION_TABLE[program] : undefined;
  if (program === "cargo") return CARGO_ROWS.get(subcommand);
  const key = `${program} ${subcommand}`;
  return Object.hasOwn(OPTION_TABLE, key) ? OPTION_TABLE[key] : undefined;
}

/** Programs whose first other word is a command of their own; one without a row is covered only when it is named. */
export const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set("git npm pnpm yarn cargo go docker".split(" "));
