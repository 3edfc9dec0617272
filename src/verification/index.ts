// The public entry of verification: what adapters may use to judge where bytes come from.
export type { BoundedJson, JsonRefusal } from './bounded-json.ts'
export { parseBoundedJson } from './bounded-json.ts'
export { canonicalJson } from './canonical-json.ts'
export type { ClockJudgement, ClockTolerance } from './clock-skew.ts'
export { judgeClockSkew } from './clock-skew.ts'
export { equalInConstantTime } from './constant-time.ts'
export type { ContentAddressed } from './digest.ts'
export { assertDigest } from './digest.ts'
export type { Dial, DialRequest, GuardedFetchDeps } from './guarded-fetch.ts'
export { createGuardedFetch, createUnpinnedFetch, tooLate } from './guarded-fetch.ts'
export type { TargetRules, TargetVerdict } from './guarded-target.ts'
export { checkTarget } from './guarded-target.ts'
export type { HmacHeaderOptions } from './hmac.ts'
export { hexOf, verifyHmacSha256, webHmac } from './hmac.ts'
export type { OwnDocument } from './own-document.ts'
export { readOwnDocument } from './own-document.ts'
export { isPublicAddress } from './public-address.ts'
export { readBody, readStream } from './read-body.ts'
export { sha256Bytes, sha256Hex } from './sha256.ts'
export type { Misfit, Reading, Rule } from './wire-reader.ts'
export {
  anything,
  fieldsOf,
  flag,
  lenient,
  listOf,
  looseFieldsOf,
  mapped,
  maybe,
  misfit,
  oneOf,
  optional,
  otherwise,
  text,
  textLike,
  textOf,
  wholeNumber,
} from './wire-reader.ts'
