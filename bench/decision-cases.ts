/** Commands of about 4 KB, of many shapes, longer ones, and the rules of a careful user: what a decision costs. */

/** What people and models type all day; none whose end would change what stands behind it. */
const EVERYDAY: readonly string[] = [
  "git status --short; git branch --show-current",
  "git log --since='2 weeks ago' --author=a@example.com --pretty=format:'%h %s'",
  "git show HEAD~1:src/a.ts | head -20",
  "git diff --cached --name-only",
  "git ls-files 'src/*.ts' | wc -l",
  "git branch -a | grep -v main",
  "npm test 2>&1 | tail -20",
  "CI=1 FORCE_COLOR=0 npm run lint",
  "timeout -k 5 60s npm run build 2>/dev/null",
  "npx tsc --noEmit -p tsconfig.json",
  "node build.js --fast",
  "ls -la src && cat package.json",
  "cat package.json | jq .name",
  "grep -rn 'export' src --include='*.ts'",
  "rg -n 'TODO|FIXME' src -g '*.ts' | head",
  "find src -name '*.ts' -exec grep -l export {} +",
  "find . -name '*.ts' -not -path './node_modules/*'",
  "sed -n '1,20p' src/a.ts",
  "awk -F: '/export/ { print $1 }' src/a.ts",
  "sort -u src/a.ts | cut -d' ' -f1",
  "diff -u src/a.ts src/b.ts || true",
  "printf '%s\\n' a b",
];

const CHARACTERS = 4_096;

/** Thirty rules: what a user of a project allows, asks about and denies. */
export const DECISION_RULES: {
  readonly [List in "allow" | "ask" | "deny"]: readonly string[];
} = {
  allow: [
    ..."git status;git diff *;git log *;git show *;git add *;npm test *;npm run *;npx tsc *;ls *;cat *;grep *;rg *;head *;wc *;echo *;cp *;node build.js *"
      .split(";")
      .map((command) => `shell(${command})`),
    "Edit(./src/**)",
    "Edit(./out/**)",
    "Read(/usr/share/**)",
  ],
  ask: ["shell(git push *)", "shell(npm publish *)", "Edit(./migrations/**)", "Edit(package.json)"],
  deny: [
    "Read(.env)",
    "Read(./secrets/**)",
    "Edit(./secrets/**)",
    "Read(**/*.pem)",
    "shell(rm -rf *)",
    "shell(sudo *)",
  ],
};

/** Pieces made by number, joined until `characters` are full. */
function filled(joint: string, piece: (at: number) => string, characters = CHARACTERS): string {
  let text = piece(0);
  for (let at = 1; ; at++) {
    const more = joint + piece(at);
    if (text.length + more.length > characters) return text;
    text += more;
  }
}

/** Everyday commands from `start` on. */
function everyday(start: number, joint: string, characters = CHARACTERS): string {
  return filled(joint, (at) => EVERYDAY[(start + at * 7) % EVERYDAY.length] ?? "ls", characters);
}

/** The longest command that is read, and one beyond. */
export const LONG_CASES: { readonly [shape: string]: readonly string[] } = {
  "16 KB": [everyday(0, " && ", 16_000), filled(" ", (at) => (at === 0 ? "rm" : `old/${at}/a=${at}`), 16_000)],
  "64 KB": [everyday(0, " && ", 65_536), filled("; ", (at) => `ls src/x${at}`, 65_536)],
};

export const DECISION_CASES: { readonly [shape: string]: readonly string[] } = {
  "everyday chain": [everyday(0, " && "), everyday(3, "; "), everyday(11, " || "), everyday(5, "\n")],
  "one long command": [
    filled(" ", (at) => (at === 0 ? "git add" : `src/folder-${at}/file-${at}.ts`)),
    filled(" ", (at) => (at === 0 ? "cat" : `"a file ${at}"`)),
    filled(" ", (at) => (at === 0 ? "rg -n" : `-g '*.x${at}'`)),
    filled(" ", (at) => (at === 0 ? "cp" : `src/a${at}.ts`)),
  ],
  "many short commands": [
    filled("; ", (at) => `ls src/x${at}`),
    filled(" && ", (at) => `cat a${at} | wc -l`),
    filled("; ", (at) => `p${at} x${at}`),
    filled("; ", (at) => `echo ${at} > out/${at}`),
    filled(";", (at) => `a${at}`),
  ],
  "the same again": [filled("; ", () => "git status && git diff --stat | head -n 5"), filled("; ", () => "ls")],
  "files of redirects": [
    filled("; ", (at) => `ls > out/log-${at}.txt 2>> src/err-${at}`),
    filled(" ", (at) => (at === 0 ? "ls" : `> out/a/${at}/b`)),
    filled(" ", (at) => (at === 0 ? "ls | tee" : `out/copy-${at}`)),
  ],
  substitutions: [
    filled("; ", (at) => `echo "$(git log -n ${at} | head -${at})" \`ls x${at}\``),
    `${"echo $(".repeat(7)}${filled("; ", (at) => `ls ${at}`).slice(0, 4_000)}${")".repeat(7)}`,
    filled(" ", (at) => (at === 0 ? "cat" : `<(ls ${at})`)),
  ],
  wrappers: [
    filled("; ", (at) => `timeout ${at + 1} nice -n 1 env CI=1 npm run task-${at}`),
    filled("; ", (at) => `find src -name '*.x${at}' -exec grep -l "x ${at}" {} +`),
    filled(" | ", (at) => `xargs -n1 grep x${at}`),
    filled("; ", (at) => `bash -c 'git status && ls x${at}'`),
  ],
  "here-documents and quotes": [
    `cat > out/x <<'EOF'\n${filled("\n", (at) => `line ${at} with $(words) and 'quotes'`)}\nEOF`,
    `git commit -m "${filled(" ", (at) => `word-${at}`)}"`,
    filled("\n", (at) => `cat <<E${at}\nsome text $x\nE${at}`),
    `echo '${"é".repeat(CHARACTERS - 10)}'`,
  ],
  "loops and conditions": [
    filled("; ", (at) => `for f in src/*.ts; do if [ -f "$f" ]; then wc -l "$f" x${at}; fi; done`),
    filled("\n", (at) => `case $x in a${at}) ls ${at} ;; *) pwd ;; esac`),
    filled("; ", (at) => `cd src/${at} && ls; cd ../..`),
    `${"if ls; then ".repeat(60)}ls${"; fi".repeat(60)}`,
  ],
  "hard to prove": [
    filled("; ", (at) => `$x${at} "\${y:-$(ls ${at})}" *.{a,b}`),
    filled("; ", (at) => `f${at}() { ls ${at}; }; A${at}=1 ls`),
    filled(" ", (at) => (at === 0 ? "ls" : `{a,b}*[x${at}]?`)),
    "$(".repeat(2_000),
    "{ ".repeat(2_000),
    `ls ${"\\".repeat(4_000)}`,
    "(".repeat(4_000),
    `echo ${'"$x"'.repeat(1_000)}`,
  ],
  "files by name": [
    filled(" ", (at) => (at === 0 ? "rm" : `old/${at}/.envs=${at}:x,y@z`)),
    filled(" ", (at) => (at === 0 ? "grep -r KEY" : `../${at}/secretes/`)),
    filled(" ", (at) => (at === 0 ? "mv" : `${"a/".repeat(at % 40)}x`)),
  ],
};
