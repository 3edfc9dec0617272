// The public entry of verification: what adapters may use to judge where bytes come from.
export type { BoundedJson, JsonRefusal } from './bounded-json.ts'
export { parseBoundedJson } from './bounded-json.ts'
export { canonicalJson } from './canonical-json.ts'
export type { ClockSkewResult, ClockTolerance } from './clock-skew.ts'
export { checkClockSkew } from './clock-skew.ts'
export { equalInConstantTime } from './constant-time.ts'
export type { ContentAddressed } from './digest.ts'
export { assertDigest } from './digest.ts'
export type { Dial, DialRequest, SafeFetchDeps } from './guarded-fetch.ts'
export { createSafeFetch, createUnpinnedFetch, tooLateError } from './guarded-fetch.ts'
export type { TargetCheck, TargetRules } from './guarded-target.ts'
export { checkTarget } from './guarded-target.ts'
export type { HmacHeaderOptions } from './hmac.ts'
export { toHex, verifyHmacSha256, webHmac } from './hmac.ts'
export type { OwnDocument } from './own-document.ts'
export { readOwnDocument } from './own-document.ts'
export { isPublicAddress } from './public-address.ts'
export { readBody, readStream } from './read-body.ts'
export { sha256Bytes, sha256Hex } from './sha256.ts'
export type { Misfit, Reading, WireRule } from './wire-reader.ts'
export {
  misfit,
  wireArray,
  wireBoolean,
  wireDefault,
  wireEnum,
  wireInteger,
  wireLenient,
  wireLooseObject,
  wireMapped,
  wireNullish,
  wireObject,
  wireOptional,
  wireString,
  wireStringMatching,
  wireStringOfLength,
  wireUnknown,
} from './wire-reader.ts'
