// Verifies one signature with one key, by WebCrypto. Imported keys are kept, because importing costs as much as verifying.

import { importPublicKey, LruMap, type PublicKey, verifyWithKey } from '../../../src/lib/index.ts'
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

const keyOf: Readonly<Record<Algorithm, RemoteKey['algorithm']>> = {
  'rsa-v1_5-sha256': 'rsa',
  'rsa-pss-sha512': 'rsa',
  'ecdsa-p256-sha256': 'p256',
  ed25519: 'ed25519',
}

const ownAlgorithm: Readonly<Record<RemoteKey['algorithm'], Algorithm>> = {
  rsa: 'rsa-v1_5-sha256',
  p256: 'ecdsa-p256-sha256',
  ed25519: 'ed25519',
}

const maxKeys = 1000
const maxSpkiLength = 2048

export function createSignatureChecker(): SignatureChecker {
  const keys = new LruMap<string, Promise<PublicKey | undefined>>(maxKeys)
  const importCachedKey = (spki: string, algorithm: Algorithm): Promise<PublicKey | undefined> => {
    const name = `${algorithm} ${spki}`
    const known = keys.get(name)
    if (known !== undefined) return known
    const imported = importSpki(spki, algorithm)
    keys.set(name, imported)
    return imported
  }
  return {
    async check(key, named, signature, signed) {
      const algorithm = named ?? ownAlgorithm[key.algorithm]
      if (keyOf[algorithm] !== key.algorithm) return 'algorithm_of_another_key'
      const imported = await importCachedKey(key.spki, algorithm)
      if (imported === undefined) return 'key_unusable'
      const isRight = await verifyWithKey(imported, signature, signed)
      return isRight ? 'right' : 'wrong'
    },
  }
}

/** Undefined for whatever is no such key: a mistake of another server is no exception here. */
async function importSpki(spki: string, algorithm: Algorithm): Promise<PublicKey | undefined> {
  const bytes = spki.length > maxSpkiLength ? undefined : decodeStrictBase64(spki)
  return bytes === undefined ? undefined : importPublicKey(algorithm, bytes)
}
