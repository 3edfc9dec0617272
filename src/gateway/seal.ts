// Encrypts credentials at rest: AES-256-GCM with the operator's key. Several keys may open; the first one closes, so keys can
// change.

import type { Seal } from '../db/installations.ts'
import { GatewayError } from '../lib/errors.ts'
import { decodeBase64, encodeBase64, sha256Bytes, toHex } from '../lib/index.ts'
import { type Secret, secret } from '../lib/secret.ts'

/** 32 bytes each, the newest first. */
export type SealKeys = () => Promise<readonly Uint8Array<ArrayBuffer>[]>

type SealKey = { readonly id: string; readonly key: CryptoKey }

const ivBytes = 12
const utf8 = new TextEncoder()

/** A seal that also says by which key it closes, so that what an older one closed can be found. */
export type RotatingSeal = Seal & {
  /** Undefined: there is none. */
  readonly currentKey: () => Promise<string | undefined>
}

/** Another process may have made a new key: so long this one goes on closing with the one before. */
const sealKeysLiveMs = 5_000

export function createSeal(readKeys: SealKeys, now: () => number = Date.now): RotatingSeal {
  let keys: Promise<readonly SealKey[]> | undefined
  let until = 0
  const readCachedSealKeys = (isAnew = false): Promise<readonly SealKey[]> => {
    if (isAnew || now() > until) keys = undefined
    if (keys === undefined) until = now() + sealKeysLiveMs
    keys ??= readKeys()
      .then((all) => Promise.all(all.map(importSealKey)))
      .catch((error: unknown) => {
        keys = undefined
        throw error
      })
    return keys
  }
  const findSealKey = async (id: string, isAnew = false): Promise<SealKey | undefined> =>
    (await readCachedSealKeys(isAnew)).find((each) => each.id === id)
  return {
    currentKey: async () => (await readCachedSealKeys())[0]?.id,
    async close(text, about) {
      const [first] = await readCachedSealKeys()
      if (first === undefined)
        throw new GatewayError(
          'config_invalid',
          '[storage] there is no key to seal secrets with; set PARLEY_SEAL_KEY (openssl rand -hex 32)',
        )
      const iv = crypto.getRandomValues(new Uint8Array(ivBytes))
      const closed = await crypto.subtle.encrypt(sealAlgorithm(iv, about), first.key, utf8.encode(text))
      return `v1.${first.id}.${encodeBase64(iv)}.${encodeBase64(new Uint8Array(closed))}`
    },
    async open(sealed, about) {
      const [version, id = '', iv = '', closed = ''] = sealed.split('.')
      // One that is not known yet was made by another process a moment ago.
      const found = (await findSealKey(id)) ?? (await findSealKey(id, true))
      if (version !== 'v1' || found === undefined) throw wrongSealKeyError(id)
      try {
        const opened = await crypto.subtle.decrypt(
          sealAlgorithm(decodeBase64(iv), about),
          found.key,
          decodeBase64(closed),
        )
        return new TextDecoder().decode(opened)
      } catch {
        throw wrongSealKeyError(id)
      }
    },
  }
}

/** The runtimes call its type by different names. */
function sealAlgorithm(iv: Uint8Array<ArrayBuffer>, about: string) {
  return { name: 'AES-GCM', iv, additionalData: utf8.encode(about) }
}

/** Its name is a hash of it, so that a replica with another key can say which one is missing. */
async function importSealKey(bytes: Uint8Array<ArrayBuffer>): Promise<SealKey> {
  const id = toHex((await sha256Bytes(bytes)).subarray(0, 4))
  return { id, key: await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']) }
}

function wrongSealKeyError(id: string): GatewayError {
  return new GatewayError(
    'config_invalid',
    `[installations] stored credentials do not open; add the key ${id} they were sealed with to PARLEY_SEAL_KEY, or install anew`,
  )
}

// PARLEY_SEAL_KEY: one key or several, the newest first, each 32 bytes in hex.

export const sealKeyPattern = /^\s*[0-9a-f]{64}\s*(?:,\s*[0-9a-f]{64}\s*)*$/i
export const sealKeyAdvice = 'must be 64 hex digits (openssl rand -hex 32), or several with commas'

export function parseSealKeys(given: string | undefined): readonly Secret[] {
  return given === undefined ? [] : given.split(',').map((each) => secret(each.trim()))
}

export function sealKeyBytes(key: Secret): Uint8Array<ArrayBuffer> {
  const hex = key.reveal()
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}
