// Who asks for a document, where they prove it by a signature of the request.
import { parseCavageSignature } from '../gate/cavage.ts'
import { createSignatureChecker } from '../gate/check-signature.ts'
import type { KeySource } from '../gate/key-source.ts'
import { parseMessageSignatures } from '../gate/message-signature.ts'
import { type SignatureClaim, toSignedRequest } from '../gate/signed-request.ts'
import type { RemoteKey } from '../wire/actor.ts'
import type { DocumentDeps } from './settings.ts'

export type ReaderVerifierDeps = {
  readonly keys: KeySource
  readonly now: () => number
  /** Our public origin: signatures are made out to it. */
  readonly origin: string
}

export function createReaderVerifier({ keys, now, origin }: ReaderVerifierDeps): DocumentDeps['signerOf'] {
  const checker = createSignatureChecker()
  const isRight = async ({ algorithm, signature, texts }: SignatureClaim, key: RemoteKey): Promise<boolean> => {
    for (const text of texts) {
      const bytes = new Uint8Array(new TextEncoder().encode(text))
      if ((await checker.check(key, algorithm, signature, bytes)) === 'right') return true
    }
    return false
  }
  const verifyKeyOwner = async (claim: SignatureClaim): Promise<string | undefined> => {
    // A key that does not fit may have been changed by its owner.
    for (const ask of [keys.find, keys.refresh]) {
      const answer = await ask(claim.keyId)
      if (answer.kind !== 'found') return undefined
      if (await isRight(claim, answer.key)) return answer.key.owner === answer.actor.id ? answer.actor.id : undefined
    }
    return undefined
  }
  return async (request) => {
    const { pathname, search } = new URL(request.url)
    if (!request.headers.has('signature')) return undefined
    const headers: Record<string, string> = Object.fromEntries(request.headers)
    headers[':path'] = `${pathname}${search}`
    const arrival = { bytes: new Uint8Array(), headers, receivedAt: '', from: 'remote' as const }
    const signed = toSignedRequest(arrival, origin, request.method)
    const claims = request.headers.has('signature-input')
      ? parseMessageSignatures(signed, now())
      : [parseCavageSignature(signed, now())]
    // One signature, one signer: of several it is not said whose the question is.
    const [claim] = claims
    return claims.length === 1 && claim?.kind === 'passed' ? verifyKeyOwner(claim.value) : undefined
  }
}
