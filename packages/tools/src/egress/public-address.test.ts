import { describe, expect, it } from "vitest";
import { isPublicAddress, publicLookup } from "./public-address.ts";

describe("isPublicAddress", () => {
  it.each(["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450:4001:82b::200e"])(
    "SUB-10 takes %s",
    (address) => expect(isPublicAddress(address)).toBe(true),
  );
  it.each([
    ..."0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.0.9 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8".split(
      " ",
    ),
    ..."168.63.129.16 192.168.1.1 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255".split(" "),
    ..."::1 :: ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 2001::1 2002:7f00:1:: fc00::1 fd12::1 fe80::1 ff02::1".split(
      " ",
    ),
    ..."localhost [::1] 127.1 not-an-address".split(" "),
  ])("SUB-10 refuses %s", (address) => expect(isPublicAddress(address)).toBe(false));
});

describe("publicLookup", () => {
  it("SUB-10 fails for a name that leads to this machine", async () => {
    for (const all of [true, false]) {
      const error = await new Promise((resolve) => publicLookup("localhost", { all }, (failed) => resolve(failed)));
      expect(error).toMatchObject({ message: "localhost leads into a private network" });
    }
  });
});
