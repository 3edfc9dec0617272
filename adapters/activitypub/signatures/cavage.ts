// Signatures by draft-cavage-http-signatures-12, as most servers sign: `Signature: keyId="…",headers="…",signature="…"`.
import { decodeStrictBase64 } from './key-material.ts'
import { type Checked, checkedValue, rejectSignature, type SignatureRejectReason } from './rejection.ts'
import { checkCavageTimes, checkDateHeader } from './signature-age.ts'
import {
  type Algorithm,
  isQuestion,
  longestKeyId,
  type SignatureClaim,
  type SignedRequest,
  signedHeader,
} from './signed-request.ts'

const maxLength = 8192
const maxNames = 32
const param = /[ \t]*([A-Za-z]+)=(?:"([^"\\]*)"|([0-9]{1,15}))[ \t]*(?:,|$)/y
const seconds = /^[0-9]{1,12}$/
/** Servers write hs2019 for whatever their key is made for. */
const algorithms: ReadonlyMap<string, Algorithm | undefined> = new Map([
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
  if (!algorithms.has(named)) return rejectSignature('unknown_algorithm')
  const fault = checkCavageCoverage(request, names, named) ?? checkCavageClaimTimes(request, params, names, nowMs)
  if (fault !== undefined) return rejectSignature(fault)
  const texts = cavageSigningTexts(request, names, params)
  return texts === undefined
    ? rejectSignature('unknown_component')
    : checkedValue({ keyId, signature, texts, algorithm: algorithms.get(named) })
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
    covered.has('(request-target)') && covered.has('host') && hasTime && (covered.has('digest') || isQuestion(request))
  if (!isEnough) return 'missing_coverage'
  // Section 2.3: the older names of algorithms know no times of their own.
  const hasOwnTimes = covered.has('(created)') || covered.has('(expires)')
  return hasOwnTimes && algorithm.startsWith('rsa') ? 'unknown_component' : undefined
}

function checkCavageClaimTimes(
  request: SignedRequest,
  params: ReadonlyMap<string, string>,
  names: readonly string[],
  nowMs: number,
): SignatureRejectReason | undefined {
  const [created, expires] = [cavageSeconds(params, 'created'), cavageSeconds(params, 'expires')]
  if (names.includes('(created)') && created === undefined) return 'missing_time'
  const fault = names.includes('date') ? checkDateHeader(signedHeader(request, 'date') ?? '', nowMs) : undefined
  return fault ?? checkCavageTimes({ created, expires }, nowMs)
}

function cavageSeconds(params: ReadonlyMap<string, string>, name: string): number | undefined {
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
          : signedHeader(request, name)
    if (value === undefined) return undefined
    lines.push(`${name}: ${value}`)
  }
  return lines.join('\n')
}
