import { describe, expect, it } from "vitest";
import { bwrapArguments, type BwrapProfile } from "./bwrap-arguments.ts";

const profile: BwrapProfile = {
  system: ["/usr", { link: "/bin", to: "usr/bin" }],
  home: "/home/user",
  shown: ["/home/user/.cargo/bin"],
  masked: ["/etc/shadow"],
  writable: ["/home/user/work"],
  readOnly: ["/home/user/work/.git"],
  network: false,
  env: {},
};

describe("bwrapArguments", () => {
  it("PERM-16 lays the private home over the system, the workspace over the home, protected names over the workspace", () => {
    expect(bwrapArguments(profile, "/home/user/work/src").join(" ")).toBe(
      "--die-with-parent --new-session --cap-drop ALL " +
        "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net " +
        "--ro-bind /usr /usr --symlink usr/bin /bin --ro-bind /dev/null /etc/shadow --proc /proc --dev /dev " +
        "--size 1073741824 --tmpfs /tmp --dir /run --dir /var --symlink ../tmp /var/tmp " +
        "--size 1073741824 --tmpfs /home/user --ro-bind /home/user/.cargo/bin /home/user/.cargo/bin " +
        "--bind /home/user/work /home/user/work --ro-bind /home/user/work/.git /home/user/work/.git " +
        "--chdir /home/user/work/src",
    );
  });

  it("PERM-15 shares the network only when it is allowed", () => {
    expect(bwrapArguments(profile, "/")).toContain("--unshare-net");
    expect(bwrapArguments({ ...profile, network: true }, "/")).not.toContain("--unshare-net");
  });

  it("keeps names that look like options apart", () => {
    const odd = bwrapArguments({ ...profile, writable: ["/w/--bind /etc"] }, "/w");
    expect(odd.slice(odd.indexOf("--bind"), odd.indexOf("--bind") + 3)).toEqual([
      "--bind",
      "/w/--bind /etc",
      "/w/--bind /etc",
    ]);
  });
});
