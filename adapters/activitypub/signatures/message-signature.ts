// HTTP message signatures (RFC 9421). Every label is judged by itself; a signature that covers too little is none.

import { type Checked, checkedValue, rejectSignature, type SignatureRejectReason } from './rejection.ts'
import { checkSignatureTimes } from './signature-age.ts'
import {
  type Algorithm,
  isQuestion,
  longestKeyId,
  type SignatureClaim,
  type SignedRequest,
  signedHeader,
} from './signed-request.ts'
import { type Dictionary, innerListText, type Member, type Params, parseDictionary } from './structured-fields.ts'

type Covered = Extract<Member, { kind: 'list' }>

/** More labels than these are a sender's way to keep us busy. */
const maxLabels = 4
const algorithms: readonly Algorithm[] = ['rsa-v1_5-sha256', 'rsa-pss-sha512', 'ecdsa-p256-sha256', 'ed25519']

/** One step for each label, in the order in which they came; never empty. */
export function parseMessageSignatures(request: SignedRequest, nowMs: number): readonly Checked<SignatureClaim>[] {
  const inputs = parseDictionary(request.headers['signature-input'] ?? '')
  const signatures = parseDictionary(request.headers['signature'] ?? '')
  if (inputs === undefined || signatures === undefined || inputs.size === 0 || inputs.size > maxLabels)
    return [rejectSignature('malformed_signature')]
  return [...inputs].map(([label, input]) =>
    input.kind === 'list'
      ? readLabel(request, input, signatureBytes(signatures, label), nowMs)
      : rejectSignature('malformed_signature'),
  )
}

function signatureBytes(signatures: Dictionary, label: string): Uint8Array<ArrayBuffer> | undefined {
  const member = signatures.get(label)
  return member?.kind === 'item' && member.bare.type === 'bytes' ? member.bare.value : undefined
}

function readLabel(
  request: SignedRequest,
  covered: Covered,
  signature: Uint8Array<ArrayBuffer> | undefined,
  nowMs: number,
): Checked<SignatureClaim> {
  const keyId = textParam(covered.params, 'keyid') ?? ''
  if (signature === undefined || keyId === '' || keyId.length > longestKeyId)
    return rejectSignature('malformed_signature')
  const names = coveredNames(covered)
  if (names === undefined) return rejectSignature('unknown_component')
  const fault = checkMessageCoverage(request, names) ?? checkSignatureTimes(signatureTimes(covered.params), nowMs)
  if (fault !== undefined) return rejectSignature(fault)
  const named = covered.params.get('alg')
  const algorithm = algorithms.find((each) => named?.type === 'string' && each === named.value)
  if (named !== undefined && algorithm === undefined) return rejectSignature('unknown_algorithm')
  const text = signatureBase(request, covered)
  return text === undefined
    ? rejectSignature('unknown_component')
    : checkedValue({ keyId, algorithm, signature, texts: [text] })
}

/** Undefined where one stands twice, or is changed by a parameter (`;bs`, `;key`, `;req` …): no server that delivers to us needs these. */
function coveredNames({ items }: Covered): readonly string[] | undefined {
  const names: string[] = []
  for (const { bare, params } of items) {
    if (bare.type !== 'string' || params.size > 0 || names.includes(bare.value)) return undefined
    names.push(bare.value)
  }
  return names
}

/** Method, whole address and body must be signed. */
function checkMessageCoverage(request: SignedRequest, names: readonly string[]): SignatureRejectReason | undefined {
  const hasAll = (...wanted: readonly string[]): boolean => wanted.every((name) => names.includes(name))
  const hasTarget = hasAll('@target-uri') || hasAll('@authority', '@path', '@query')
  const hasBody = hasAll('content-digest') || isQuestion(request)
  return hasAll('@method') && hasBody && hasTarget ? undefined : 'missing_coverage'
}

function signatureTimes(params: Params): {
  readonly created: number | undefined
  readonly expires: number | undefined
} {
  return { created: secondsParam(params, 'created'), expires: secondsParam(params, 'expires') }
}

/** Anything but a number is a time that never comes. */
function secondsParam(params: Params, name: string): number | undefined {
  const value = params.get(name)
  if (value === undefined) return undefined
  return value.type === 'integer' ? value.value : Number.NEGATIVE_INFINITY
}

function textParam(params: Params, name: string): string | undefined {
  const value = params.get(name)
  return value?.type === 'string' ? value.value : undefined
}

/** Section 2.5. Undefined: something that is said to be covered is not there. */
export function signatureBase(request: SignedRequest, { items, params }: Covered): string | undefined {
  const lines: string[] = []
  for (const { bare } of items) {
    if (bare.type !== 'string') return undefined
    const value = componentValue(request, bare.value)
    if (value === undefined) return undefined
    lines.push(`"${bare.value}": ${value}`)
  }
  return [...lines, `"@signature-params": ${innerListText(items, params)}`].join('\n')
}

function componentValue(request: SignedRequest, name: string): string | undefined {
  switch (name) {
    case '@method':
      return request.method
    case '@target-uri':
      return `${request.scheme}://${request.authority}${request.path}${request.query}`
    case '@authority':
      return request.authority
    case '@scheme':
      return request.scheme
    case '@request-target':
      return request.path + request.query
    case '@path':
      return request.path
    case '@query':
      // Section 2.2.7: without a query it is the question mark alone.
      return request.query === '' ? '?' : request.query
    default:
      return name.startsWith('@') ? undefined : signedHeader(request, name)
  }
}
