// HTTP signatures in both forms: draft-cavage-http-signatures-12, as most servers sign (`Signature: keyId="…",headers="…",signature="…"`),
// and HTTP Message Signatures (RFC 9421).

import { decodeStrictBase64 } from './key-material.ts'
import { type Checked, passedCheckOf, rejectSignature, type SignatureRejectReason } from './rejection.ts'
import {
  type Algorithm,
  checkCavageTimes,
  checkDateHeader,
  checkSignatureTimes,
  isBodylessMethod,
  longestKeyId,
  type SignatureClaim,
  type SignedRequest,
  signedRequestHeader,
} from './signed-request.ts'
import { type Dictionary, type Member, type Params, parseDictionary, serializeInnerList } from './structured-fields.ts'

const maxLength = 8192
const maxNames = 32
const param = /[ \t]*([A-Za-z]+)=(?:"([^"\\]*)"|([0-9]{1,15}))[ \t]*(?:,|$)/y
const seconds = /^[0-9]{1,12}$/
/** Servers write hs2019 for whatever their key is made for. */
const cavageAlgorithms: ReadonlyMap<string, Algorithm | undefined> = new Map([
  ['hs2019', undefined],
  ['rsa-sha256', 'rsa-v1_5-sha256'],
  ['ed25519', 'ed25519'],
])

export function parseCavageSignature(request: SignedRequest, nowMs: number): Checked<SignatureClaim> {
  const params = parseCavageParams(request.headers['signature'] ?? '')
  if (params === undefined) return rejectSignature('malformed_signature')
  const keyId = params.get('keyId') ?? ''
  const signature = decodeStrictBase64(params.get('signature') ?? '')
  // Absent, it means `(created)` alone, which covers too little anyway.
  const names = (params.get('headers') ?? '').toLowerCase().split(' ')
  if (keyId === '' || keyId.length > longestKeyId || signature === undefined || signature.length === 0)
    return rejectSignature('malformed_signature')
  const named = params.get('algorithm')?.toLowerCase() ?? 'hs2019'
  if (!cavageAlgorithms.has(named)) return rejectSignature('unknown_algorithm')
  const fault = checkCavageCoverage(request, names, named) ?? checkCavageClaimTimes(request, params, names, nowMs)
  if (fault !== undefined) return rejectSignature(fault)
  const texts = cavageSigningTexts(request, names, params)
  return texts === undefined
    ? rejectSignature('unknown_component')
    : passedCheckOf({ keyId, signature, texts, algorithm: cavageAlgorithms.get(named) })
}

/** Each name once: of two, a signer and we might take different ones. */
function parseCavageParams(header: string): ReadonlyMap<string, string> | undefined {
  if (header.length > maxLength) return undefined
  const params = new Map<string, string>()
  let end = 0
  while (end < header.length) {
    param.lastIndex = end
    const found = param.exec(header)
    const name = found?.[1]
    if (found === null || name === undefined || params.has(name)) return undefined
    params.set(name, found[2] ?? found[3] ?? '')
    end = param.lastIndex
  }
  return params
}

/** What must be signed, or a signature can be put on another body, to another inbox or at another time. */
function checkCavageCoverage(
  request: SignedRequest,
  names: readonly string[],
  algorithm: string,
): SignatureRejectReason | undefined {
  const covered = new Set(names)
  if (covered.size !== names.length || names.length > maxNames) return 'malformed_signature'
  const hasTime = covered.has('date') || covered.has('(created)')
  const isEnough =
    covered.has('(request-target)') &&
    covered.has('host') &&
    hasTime &&
    (covered.has('digest') || isBodylessMethod(request))
  if (!isEnough) return 'missing_coverage'
  // Section 2.3: the older names of cavageAlgorithms know no times of their own.
  const hasOwnTimes = covered.has('(created)') || covered.has('(expires)')
  return hasOwnTimes && algorithm.startsWith('rsa') ? 'unknown_component' : undefined
}

function checkCavageClaimTimes(
  request: SignedRequest,
  params: ReadonlyMap<string, string>,
  names: readonly string[],
  nowMs: number,
): SignatureRejectReason | undefined {
  const [created, expires] = [parseCavageTimeParam(params, 'created'), parseCavageTimeParam(params, 'expires')]
  if (names.includes('(created)') && created === undefined) return 'missing_time'
  const fault = names.includes('date') ? checkDateHeader(signedRequestHeader(request, 'date') ?? '', nowMs) : undefined
  return fault ?? checkCavageTimes({ created, expires }, nowMs)
}

function parseCavageTimeParam(params: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = params.get(name)
  if (text === undefined) return undefined
  return seconds.test(text) ? Number(text) : Number.NaN
}

/** Some sign the address with its query, some without; both forms are taken. */
function cavageSigningTexts(
  request: SignedRequest,
  names: readonly string[],
  params: ReadonlyMap<string, string>,
): readonly string[] | undefined {
  const targets = request.query === '' ? [request.path] : [request.path + request.query, request.path]
  const texts: string[] = []
  for (const target of targets) {
    const text = cavageSigningText(request, names, params, target)
    if (text === undefined) return undefined
    texts.push(text)
  }
  return texts
}

export function cavageSigningText(
  request: SignedRequest,
  names: readonly string[],
  params: ReadonlyMap<string, string>,
  target: string,
): string | undefined {
  const lines: string[] = []
  for (const name of names) {
    const value =
      name === '(request-target)'
        ? `${request.method.toLowerCase()} ${target}`
        : name === '(created)' || name === '(expires)'
          ? params.get(name.slice(1, -1))
          : signedRequestHeader(request, name)
    if (value === undefined) return undefined
    lines.push(`${name}: ${value}`)
  }
  return lines.join('\n')
}

// HTTP message signatures (RFC 9421). Every label is judged by itself; a signature that covers too little is none.

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
      ? readLabeledSignature(request, input, signatureBytes(signatures, label), nowMs)
      : rejectSignature('malformed_signature'),
  )
}

function signatureBytes(signatures: Dictionary, label: string): Uint8Array<ArrayBuffer> | undefined {
  const member = signatures.get(label)
  return member?.kind === 'item' && member.bare.type === 'bytes' ? member.bare.value : undefined
}

function readLabeledSignature(
  request: SignedRequest,
  covered: Covered,
  signature: Uint8Array<ArrayBuffer> | undefined,
  nowMs: number,
): Checked<SignatureClaim> {
  const keyId = textParam(covered.params, 'keyid') ?? ''
  if (signature === undefined || keyId === '' || keyId.length > longestKeyId)
    return rejectSignature('malformed_signature')
  const names = listCoveredNames(covered)
  if (names === undefined) return rejectSignature('unknown_component')
  const fault = checkMessageCoverage(request, names) ?? checkSignatureTimes(signatureTimes(covered.params), nowMs)
  if (fault !== undefined) return rejectSignature(fault)
  const named = covered.params.get('alg')
  const algorithm = algorithms.find((each) => named?.type === 'string' && each === named.value)
  if (named !== undefined && algorithm === undefined) return rejectSignature('unknown_algorithm')
  const text = signatureBase(request, covered)
  return text === undefined
    ? rejectSignature('unknown_component')
    : passedCheckOf({ keyId, algorithm, signature, texts: [text] })
}

/** Undefined where one stands twice, or is changed by a parameter (`;bs`, `;key`, `;req` …): no server that delivers to us needs these. */
function listCoveredNames({ items }: Covered): readonly string[] | undefined {
  const names: string[] = []
  for (const { bare, params } of items) {
    if (bare.type !== 'string' || params.size > 0 || names.includes(bare.value)) return undefined
    names.push(bare.value)
  }
  return names
}

/** Method, whole address and body must be signed. */
function checkMessageCoverage(request: SignedRequest, names: readonly string[]): SignatureRejectReason | undefined {
  const coversAll = (...wanted: readonly string[]): boolean => wanted.every((name) => names.includes(name))
  const hasTarget = coversAll('@target-uri') || coversAll('@authority', '@path', '@query')
  const hasBody = coversAll('content-digest') || isBodylessMethod(request)
  return coversAll('@method') && hasBody && hasTarget ? undefined : 'missing_coverage'
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
  return [...lines, `"@signature-params": ${serializeInnerList(items, params)}`].join('\n')
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
      return name.startsWith('@') ? undefined : signedRequestHeader(request, name)
  }
}
