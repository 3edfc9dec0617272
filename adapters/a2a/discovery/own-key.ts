// The keys that cards and notifications are signed with: as configured, else made at first use and kept.
import type { ChannelKeys } from '../../../src/contract/index.ts'
import type { A2aSettings } from '../config.ts'
import { type CardKey, makeCardKey, readCardKey } from './sign-card.ts'

/** Undefined: nothing is signed here. */
export type OwnKey = () => Promise<CardKey | undefined>

export type OwnCardKeys = {
  readonly signing: OwnKey
  /** The public keys for verifiers, with those that were replaced lately. */
  readonly all: () => Promise<readonly CardKey[]>
}

/** Longer than verifiers cache our keys, and than a notification waits to be checked. */
const formerKeysMs = 48 * 60 * 60 * 1000

export function createCardKeys(
  { signing }: Pick<A2aSettings, 'signing'>,
  ownKeys: ChannelKeys | undefined,
): OwnCardKeys {
  const known = new Map<string, Promise<CardKey>>()
  const readCachedKey = (text: string): Promise<CardKey> => {
    const key = known.get(text) ?? readCardKey(text)
    known.set(text, key)
    // A load that failed is tried again by the next caller.
    key.catch(() => known.delete(text))
    return key
  }
  const readSigningKey = async () => {
    if (signing === false) return undefined
    const configured = signing?.key.reveal()
    return configured === undefined
      ? ownKeys?.ring('card', makeCardKey, formerKeysMs)
      : { signing: configured, all: [configured] }
  }
  return {
    async signing() {
      const ring = await readSigningKey()
      return ring === undefined ? undefined : readCachedKey(ring.signing)
    },
    all: async () => Promise.all(((await readSigningKey())?.all ?? []).map(readCachedKey)),
  }
}

export function keysPath({ path }: Pick<A2aSettings, 'path'>): string {
  return `${path}/.well-known/jwks.json`
}
