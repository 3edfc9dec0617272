// Why verification refuses a sender: the status of each reason, and what to do. No status stands anywhere else here.
import type { RejectReason } from '../../../src/contract/index.ts'

const reasons = {
  wrong_media_type: [
    415,
    'malformed_request',
    'send application/activity+json, or application/ld+json with the profile of ActivityStreams',
  ],
  body_too_large: [413, 'malformed_request', 'send a shorter body'],
  missing_signature: [401, 'missing_credential', 'sign the request, in the header Signature'],
  missing_digest: [401, 'bad_signature', 'send the header Digest or Content-Digest, and sign it'],
  malformed_digest: [
    401,
    'bad_signature',
    'send SHA-256 or SHA-512 of the body as Digest or Content-Digest, and no other',
  ],
  digest_mismatch: [401, 'bad_signature', 'compute the digest over the bytes that are sent'],
  invalid_utf8: [400, 'malformed_request', 'send UTF-8'],
  invalid_json: [400, 'malformed_request', 'send JSON'],
  not_an_object: [400, 'malformed_request', 'send one activity as a JSON object'],
  too_deep: [400, 'malformed_request', 'nest the activity less deeply'],
  too_many_values: [400, 'malformed_request', 'send fewer values in one activity'],
  text_too_long: [400, 'malformed_request', 'send shorter texts'],
  no_type: [400, 'malformed_request', 'say the type of the activity'],
  no_actor: [400, 'malformed_request', 'name one actor by its address'],
  no_id: [400, 'malformed_request', 'give the activity an id on the host of its actor'],
  foreign_activity_id: [400, 'malformed_request', 'give the activity an id on the host of its actor'],
  foreign_object_id: [400, 'malformed_request', 'speak of objects on the host of the actor'],
  malformed_signature: [401, 'bad_signature', 'write the signature by draft-cavage-http-signatures-12 or by RFC 9421'],
  missing_coverage: [
    401,
    'bad_signature',
    'sign (request-target), host, date and digest; or @method, @target-uri and content-digest',
  ],
  unknown_component: [
    401,
    'bad_signature',
    'sign headers and components that the request has, each once and without parameters',
  ],
  unknown_algorithm: [
    401,
    'bad_signature',
    'sign with rsa-v1_5-sha256, rsa-pss-sha512, ecdsa-p256-sha256 or ed25519; proofs with eddsa-jcs-2022',
  ],
  algorithm_of_another_key: [401, 'bad_signature', 'name the algorithm that the key is made for'],
  missing_time: [401, 'bad_signature', 'say when it was signed'],
  stale: [401, 'stale_timestamp', 'sign when sending, and check the clock'],
  expired: [401, 'stale_timestamp', 'sign anew'],
  from_the_future: [401, 'future_timestamp', 'check the clock'],
  key_elsewhere: [401, 'wrong_credential', 'sign with a key on the host of the actor'],
  key_gone: [401, 'wrong_credential', 'publish the key under its id'],
  key_unreachable: [401, 'wrong_credential', 'let the key be fetched under its id, then send again'],
  key_refused: [401, 'wrong_credential', 'list the key in the document of its owner'],
  key_unusable: [401, 'wrong_credential', 'publish the key as SPKI; RSA with 2048 to 8192 bits'],
  not_the_owner: [401, 'wrong_credential', 'sign with the key of the actor'],
  wrong_signature: [401, 'bad_signature', 'sign exactly what is sent, for this address'],
  missing_proof: [401, 'missing_credential', 'sign the request, or put a proof into the activity'],
  malformed_proof: [401, 'bad_signature', 'make the proof by FEP-8b32 with eddsa-jcs-2022'],
} as const satisfies Record<string, readonly [status: number, rejectedAs: RejectReason, remedy: string]>

export type SignatureRejectReason = keyof typeof reasons

export type RejectedSignature = {
  readonly kind: 'refused'
  readonly reason: SignatureRejectReason
  readonly status: 400 | 401 | 413 | 415
  /** The same in the words that every channel's rejections are counted by. */
  readonly rejectedAs: RejectReason
  readonly remedy: string
}

export function rejectSignature(reason: SignatureRejectReason): RejectedSignature {
  const [status, rejectedAs, remedy] = reasons[reason]
  return { kind: 'refused', reason, status, rejectedAs, remedy }
}

/** The result of a step: what it passes on, or why it ends here. */
export type Checked<T> = { readonly kind: 'passed'; readonly value: T } | RejectedSignature

export function passedCheckOf<T>(value: T): Checked<T> {
  return { kind: 'passed', value }
}
