// Keys and names of this gateway for its agents: the key of its attestations, its name in call chains, the mark of speaker lines.
// Generated once, sealed, the same for all replicas.

import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import type { Seal } from '../db/installations.ts'
import { createOwnKeyStore } from '../db/own-keys.ts'
import { type Attestor, createAttestor, makeAttestationKey } from '../identity/attestor.ts'
import { randomHex, toHex } from '../lib/index.ts'
import { createSeal, type SealKeys, sealKeyBytes } from './seal.ts'

/** Longer than others keep the card they check by. */
const formerKeysMs = 48 * 60 * 60 * 1000

type OwnAttestorDeps = { readonly sealKeys?: SealKeys; readonly newId: () => string; readonly now: () => number }

export function createGatewayAttestor(config: Config, database: Database, parts: OwnAttestorDeps): Attestor {
  const { tenant, domain: issuer } = config
  const seal = createSeal(parts.sealKeys ?? (async () => config.sealKeys.map(sealKeyBytes)))
  const keys = createOwnKeyStore(database, { tenant, connection: 'gateway', agent: '', seal })
  const readAttestationKeys = () => keys.ring('attestations', makeAttestationKey, formerKeysMs)
  return createAttestor({ issuer, readKeys: readAttestationKeys, newId: parts.newId, now: parts.now })
}

// Our name in a call chain is our public address, else a name made once and kept for all replicas. Gateways without an address
// would otherwise all be one, and an agent could not ask its namesake at another.

type HostNames = { readonly tenant: string; readonly publicUrl: string | undefined; readonly domain: string }

/** The database is read at the first use, and once. */
export function createHostNameReader(
  { tenant, publicUrl, domain }: HostNames,
  database: Database,
): () => Promise<string> {
  if (publicUrl !== undefined) {
    const { origin } = new URL(publicUrl)
    return async () => origin
  }
  const keys = createOwnKeyStore(database, { tenant, connection: 'gateway', agent: '', seal: noSeal })
  let known: Promise<string> | undefined
  const readOrMakeHostName = async (): Promise<string> => {
    const name = await keys.keep('host', async () => crypto.randomUUID(), 'plain')
    return `http://${name ?? crypto.randomUUID()}.${domain}`
  }
  return () => {
    known ??= readOrMakeHostName().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}

/** A name is no secret. */
const noSeal: Seal = { close: async (text) => text, open: async (text) => text }

// The mark of lines that tell a model who speaks is made of a sealed key and the session, the same in every replica and every try.

export type SpeakerMarks = (sessionId: string) => Promise<string>

/** 80 bits: it cannot be guessed, and it costs a model few tokens a line. */
const markLength = 20
type SpeakerMarksDeps = { readonly sealKeys?: SealKeys }

export function createSpeakerMarkSigner(
  config: Config,
  database: Database,
  { sealKeys }: SpeakerMarksDeps,
): SpeakerMarks {
  const { tenant } = config
  const seal = createSeal(sealKeys ?? (async () => config.sealKeys.map(sealKeyBytes)))
  const keys = createOwnKeyStore(database, { tenant, connection: 'gateway', agent: '', seal })
  // Where the key cannot be opened, as in a replica without PARLEY_SEAL_KEY, it lasts as long as the process: a mark that changes
  // costs a provider's cache, and no turn fails for it.
  const lone = randomHex(32)
  const readSpeakerMarkKey = async (): Promise<CryptoKey> => {
    // Nothing that was made with an older one is ever checked.
    const ring = await keys.ring('speaker-marks', async () => randomHex(32), 0).catch(() => undefined)
    return crypto.subtle.importKey('raw', utf8.encode(ring?.all[0] ?? lone), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
    ])
  }
  return async (sessionId) => {
    const signed = await crypto.subtle.sign(
      'HMAC',
      await readSpeakerMarkKey(),
      utf8.encode(JSON.stringify([tenant, sessionId])),
    )
    return toHex(new Uint8Array(signed)).slice(0, markLength)
  }
}

const utf8 = new TextEncoder()
