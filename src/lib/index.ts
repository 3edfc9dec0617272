// The public entry of lib: helpers that adapters may use, each the only one of its kind.

export { decodeBase64, decodeLatin1, encodeBase64, fromHex, randomHex, toHex, truncateToBytes } from './bytes.ts'
export { LruMap } from './cache.ts'
export { splitCommaList } from './clean-text.ts'
export type {
  ClockSkewResult,
  ClockTolerance,
  ContentAddressed,
  HmacHeaderOptions,
  PublicKey,
  SignatureAlgorithm,
} from './crypto.ts'
export {
  assertDigest,
  checkClockSkew,
  equalInConstantTime,
  importEd25519Key,
  importPublicKey,
  sha256Bytes,
  sha256Hex,
  sha256OfJson,
  verifyHmacSha256,
  verifyWithKey,
  webHmac,
} from './crypto.ts'
export { errorCode } from './errors.ts'
export type { BoundedJson, JsonRefusal } from './json.ts'
export {
  arrayOrEmpty,
  asFields,
  canonicalJson,
  isEmptyArray,
  isJsonValue,
  isObjectRecord,
  isPlainObject,
  jsonByteLength,
  maxJsonDepth,
  ownField,
  parseBoundedJson,
  parseJson,
  sortedJson,
  stableStringify,
  textList,
  toJson,
  toStorableJson,
  trimmedText,
} from './json.ts'
export { readOwnDocument } from './public-url-document.ts'
export { readBody, readStream } from './read-body.ts'
export type { Dial, DialRequest, SafeFetchDeps, TargetCheck, TargetRules } from './safe-fetch.ts'
export { checkTarget, createSafeFetch, createUnpinnedFetch, isPublicAddress, tooLateError } from './safe-fetch.ts'
export { readServerSentEvents } from './sse.ts'
export { abortable, settleWithin, sleep, withTimeout } from './time.ts'
export type { Misfit, Reading, WireRule } from './wire-reader.ts'
export {
  misfit,
  readWire,
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
