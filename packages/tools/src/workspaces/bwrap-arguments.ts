/** A profile as the options of bubblewrap. Pure: what is there was looked up before. */

export type BwrapProfile = {
  /** Folders and files of the system, read-only; a link is made again as the link it is. */
  readonly system: readonly (string | { readonly link: string; readonly to: string })[];
  /** The user's home, empty and private inside. */
  readonly home: string;
  /** Shown read-only after the private folders were laid: programs on PATH, `readable`. */
  readonly shown: readonly string[];
  /** Empty files in place of what even a reader may not have. */
  readonly masked: readonly string[];
  /** The workspace and `writable`, in this order. */
  readonly writable: readonly string[];
  /** Below what is writable. Each is there: bubblewrap would make it outside too. */
  readonly readOnly: readonly string[];
  readonly network: boolean;
  readonly env: { readonly [name: string]: string };
};

/** Bytes that private folders may take of the machine's memory. */
const PRIVATE_BYTES = 1_073_741_824;

const SEPARATE = words(
  "--die-with-parent --new-session --cap-drop ALL " +
    "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try",
);

/** Later options lie over earlier ones. The program and its arguments follow after `--`. */
export function bwrapArguments(profile: BwrapProfile, cwd: string, more: readonly string[] = []): readonly string[] {
  const { system, home, shown, masked, writable, readOnly, network } = profile;
  const privateFolder = (path: string): readonly string[] => ["--size", String(PRIVATE_BYTES), "--tmpfs", path];
  return [
    ...SEPARATE,
    ...(network ? [] : ["--unshare-net"]),
    ...system.flatMap((entry) =>
      typeof entry === "string" ? ["--ro-bind", entry, entry] : ["--symlink", entry.to, entry.link],
    ),
    ...masked.flatMap((path) => ["--ro-bind", "/dev/null", path]),
    ...words("--proc /proc --dev /dev"),
    ...privateFolder("/tmp"),
    ...words("--dir /run --dir /var --symlink ../tmp /var/tmp"),
    ...privateFolder(home),
    ...shown.flatMap((path) => ["--ro-bind", path, path]),
    ...writable.flatMap((path) => ["--bind", path, path]),
    ...readOnly.flatMap((path) => ["--ro-bind", path, path]),
    ...more,
    "--chdir",
    cwd,
  ];
}

function words(text: string): readonly string[] {
  return text.split(" ");
}
