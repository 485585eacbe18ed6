// What was computed for a profile before: some of it for good, the rest until other things were asked for.

import type { Profile } from "./profile.ts";

// What a few views of a few steps need.
const RECENT = 24;

/** Results by key. */
export class Cache {
  private readonly lasting = new Map<string, unknown>();
  private readonly latest = new Map<string, unknown>();

  /** What was made under this key, or what `make` makes now. */
  kept<Found>(key: string, make: () => Found): Found {
    if (!this.lasting.has(key)) this.lasting.set(key, make());
    return this.lasting.get(key) as Found;
  }

  /** As `kept`, but of these only the ones asked for last are held. */
  recent<Found>(key: string, make: () => Found): Found {
    const found = this.latest.has(key) ? (this.latest.get(key) as Found) : make();
    this.latest.delete(key); // a Map is in the order of insertion, so this one becomes the youngest
    this.latest.set(key, found);
    for (const oldest of this.latest.keys()) {
      if (this.latest.size <= RECENT) break;
      this.latest.delete(oldest);
    }
    return found;
  }
}

const caches = new WeakMap<Profile, Cache>();

/** The cache of a profile, which goes when the profile goes. */
export function cacheOf(profile: Profile): Cache {
  const found = caches.get(profile) ?? new Cache();
  caches.set(profile, found);
  return found;
}
