// What marks the lines that tell a model who speaks: made of a sealed key and the session, the same in every replica and every try.
import { sealKeyBytes } from '../config/seal-keys.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { createOwnKeyStore } from '../db/own-keys.ts'
import { createSeal, type SealKeys } from './seal.ts'

export type SpeakerMarks = (sessionId: string) => Promise<string>

/** 80 bits: it cannot be guessed, and it costs a model few tokens a line. */
const markLength = 20
type SpeakerMarksDeps = { readonly sealKeys?: SealKeys }

export function createSpeakerMarks(config: Config, database: Database, { sealKeys }: SpeakerMarksDeps): SpeakerMarks {
  const { tenant } = config
  const seal = createSeal(sealKeys ?? (async () => config.sealKeys.map(sealKeyBytes)))
  const keys = createOwnKeyStore(database, { tenant, connection: 'gateway', agent: '', seal })
  // Where the key cannot be opened, as in a replica without PARLEY_SEAL_KEY, it lasts as long as the process: a mark that changes
  // costs a provider's cache, and no turn fails for it.
  const lone = randomHex()
  const readMarkKey = async (): Promise<CryptoKey> => {
    // Nothing that was made with an older one is ever checked.
    const ring = await keys.ring('speaker-marks', async () => randomHex(), 0).catch(() => undefined)
    return crypto.subtle.importKey('raw', utf8.encode(ring?.all[0] ?? lone), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
    ])
  }
  return async (sessionId) => {
    const signed = await crypto.subtle.sign(
      'HMAC',
      await readMarkKey(),
      utf8.encode(JSON.stringify([tenant, sessionId])),
    )
    return hex(new Uint8Array(signed)).slice(0, markLength)
  }
}

const utf8 = new TextEncoder()

function randomHex(): string {
  return hex(crypto.getRandomValues(new Uint8Array(32)))
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
