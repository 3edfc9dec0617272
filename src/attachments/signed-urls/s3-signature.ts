// The query of a presigned S3 URL (Signature Version 4), read without its key: complete, once each, and for reading.
import type { SignatureReading } from './supabase-token.ts'

const maxExpirySeconds = 604_800
const requiredS3Params = {
  'x-amz-algorithm': /^AWS4-HMAC-SHA256$/,
  'x-amz-credential': /^[^/]{1,256}\/\d{8}\/[a-z0-9-]{1,64}\/s3\/aws4_request$/,
  'x-amz-date': /^\d{8}T\d{6}Z$/,
  'x-amz-expires': /^\d{1,6}$/,
  'x-amz-signedheaders': /^(?:[a-z0-9-]+;)*host(?:;[a-z0-9-]+)*$/,
  'x-amz-signature': /^[0-9a-f]{64}$/,
} as const
/** Parameters of other acts than reading one whole object. */
const foreignActs = /^(?:uploadid|partnumber|uploads|acl|policy|tagging|delete|torrent|list-type)$/

export function parseS3Signature(query: readonly (readonly [name: string, value: string])[]): SignatureReading {
  const pairs = query.map(([name, value]) => [name.toLowerCase(), value] as const)
  const ofSignature = pairs.filter(([name]) => name.startsWith('x-amz-') || name === 'x-id').map(([name]) => name)
  if (new Set(ofSignature).size !== ofSignature.length) return { code: 'SU_DUP_PARAM' }
  const values = new Map(pairs)
  if (!values.has('x-amz-signature')) return { code: 'SU_FORM' }
  if (pairs.some(([name]) => foreignActs.test(name)) || (values.get('x-id') ?? 'GetObject') !== 'GetObject') {
    return { code: 'SU_SCOPE' }
  }
  const isComplete = Object.entries(requiredS3Params).every(([name, pattern]) => pattern.test(values.get(name) ?? ''))
  const seconds = Number(values.get('x-amz-expires'))
  const signedAt = parseAmzDate(values.get('x-amz-date') ?? '')
  if (!isComplete || Number.isNaN(signedAt) || seconds < 1 || seconds > maxExpirySeconds) {
    return { code: 'SU_TOKEN_MALFORMED' }
  }
  return { expiresAtMs: signedAt + seconds * 1000, token: null }
}

function parseAmzDate(basic: string): number {
  return Date.parse(basic.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}
