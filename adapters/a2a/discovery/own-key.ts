// The key of ours that cards and notifications are signed with: as configured, else made at first use and kept.
import type { ChannelKeys } from '../../../src/contract/index.ts'
import type { A2aSettings } from '../config.ts'
import { type CardKey, makeCardKey, readCardKey } from './sign-card.ts'

/** Undefined: nothing is signed here. */
export type OwnKey = () => Promise<CardKey | undefined>

export function createOwnKey({ signing }: Pick<A2aSettings, 'signing'>, ownKeys: ChannelKeys | undefined): OwnKey {
  let known: Promise<CardKey | undefined> | undefined
  const read = async (): Promise<CardKey | undefined> => {
    if (signing === false) return undefined
    const text = signing?.key.reveal() ?? (await ownKeys?.keep('card', makeCardKey))
    return text === undefined ? undefined : readCardKey(text)
  }
  return () => {
    known ??= read().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}

export function keysPath({ path }: Pick<A2aSettings, 'path'>): string {
  return `${path}/.well-known/jwks.json`
}
