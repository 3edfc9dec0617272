// Verifies one signature with one key, by WebCrypto. Imported keys are kept, because importing costs as much as verifying.

import { LruMap } from '../../../src/lib/index.ts'
import type { RemoteKey } from '../wire/activity.ts'
import { decodeStrictBase64 } from './key-material.ts'
import type { Algorithm } from './signed-request.ts'

export type SignatureJudgement = 'right' | 'wrong' | 'algorithm_of_another_key' | 'key_unusable'

export interface SignatureChecker {
  /** By the key's own algorithm where none is named. */
  check(
    key: Pick<RemoteKey, 'algorithm' | 'spki'>,
    algorithm: Algorithm | undefined,
    signature: Uint8Array<ArrayBuffer>,
    signed: Uint8Array<ArrayBuffer>,
  ): Promise<SignatureJudgement>
}

type Scheme = {
  readonly key: RemoteKey['algorithm']
  // The platform's own names of the algorithms.
  readonly imported: Parameters<SubtleCrypto['importKey']>[2]
  readonly verified: Parameters<SubtleCrypto['verify']>[0]
}

const schemes: Readonly<Record<Algorithm, Scheme>> = {
  'rsa-v1_5-sha256': {
    key: 'rsa',
    imported: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    verified: 'RSASSA-PKCS1-v1_5',
  },
  'rsa-pss-sha512': {
    key: 'rsa',
    imported: { name: 'RSA-PSS', hash: 'SHA-512' },
    verified: { name: 'RSA-PSS', saltLength: 64 },
  },
  'ecdsa-p256-sha256': {
    key: 'p256',
    imported: { name: 'ECDSA', namedCurve: 'P-256' },
    verified: { name: 'ECDSA', hash: 'SHA-256' },
  },
  ed25519: { key: 'ed25519', imported: 'Ed25519', verified: 'Ed25519' },
}

const ownAlgorithm: Readonly<Record<RemoteKey['algorithm'], Algorithm>> = {
  rsa: 'rsa-v1_5-sha256',
  p256: 'ecdsa-p256-sha256',
  ed25519: 'ed25519',
}

const maxKeys = 1000
/** A shorter one can be broken; a longer one only costs us time. */
const rsaBits = { min: 2048, max: 8192 }
const maxSpkiLength = 2048

export function createSignatureChecker(): SignatureChecker {
  const keys = new LruMap<string, Promise<CryptoKey | undefined>>(maxKeys)
  const importCached = (spki: string, algorithm: Algorithm): Promise<CryptoKey | undefined> => {
    const name = `${algorithm} ${spki}`
    const known = keys.get(name)
    if (known !== undefined) return known
    const imported = importSpki(spki, schemes[algorithm])
    keys.set(name, imported)
    return imported
  }
  return {
    async check(key, named, signature, signed) {
      const algorithm = named ?? ownAlgorithm[key.algorithm]
      if (schemes[algorithm].key !== key.algorithm) return 'algorithm_of_another_key'
      const imported = await importCached(key.spki, algorithm)
      if (imported === undefined) return 'key_unusable'
      const isRight = await crypto.subtle.verify(schemes[algorithm].verified, imported, signature, signed)
      return isRight ? 'right' : 'wrong'
    },
  }
}

/** Undefined for whatever is no such key: a mistake of another server is no exception here. */
async function importSpki(spki: string, { imported }: Scheme): Promise<CryptoKey | undefined> {
  const bytes = spki.length > maxSpkiLength ? undefined : decodeStrictBase64(spki)
  if (bytes === undefined) return undefined
  try {
    const key = await crypto.subtle.importKey('spki', bytes, imported, false, ['verify'])
    // Only RSA keys have a length of modulus.
    const { modulusLength } = key.algorithm as { readonly modulusLength?: number }
    const isFit = modulusLength === undefined || (modulusLength >= rsaBits.min && modulusLength <= rsaBits.max)
    return isFit ? key : undefined
  } catch {
    return undefined
  }
}
