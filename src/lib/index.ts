// The public entry of lib: helpers that adapters may use, each the only one of its kind.

export { decodeBase64, decodeLatin1, encodeBase64, fromHex, randomHex, toHex, truncateToBytes } from './bytes.ts'
export { LruMap } from './cache.ts'
export { cleanFileName, cleanName, cleanText, splitCommaList } from './clean-text.ts'
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
  createWebHmac,
  equalInConstantTime,
  importEd25519Key,
  importPublicKey,
  sha256Bytes,
  sha256Hex,
  sha256OfJson,
  verifyHmacSha256,
  verifyWithKey,
} from './crypto.ts'
export { errorCode, GatewayError, isGatewayError } from './errors.ts'
export { importOnNode } from './import-on-node.ts'
export type { BoundedJson, JsonRefusal, Misfit, Reading, WireRule } from './json.ts'
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
  misfit,
  ownField,
  parseBoundedJson,
  parseJson,
  readByWireRule,
  sortedJson,
  stableStringify,
  textList,
  toJson,
  toStorableJson,
  trimmedText,
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
} from './json.ts'
export type { Fields, Json, JsonObject } from './json-value.ts'
export type { Log } from './log.ts'
export { fetchOwnPublicDocument } from './public-url-document.ts'
export { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
export { readBody, readStream } from './read-body.ts'
export type { Dial, DialRequest, SafeFetchDeps, TargetCheck, TargetRules } from './safe-fetch.ts'
export { checkTarget, createSafeFetch, createUnpinnedFetch, isPublicAddress, tooLateError } from './safe-fetch.ts'
export type { SafeFetch, SafeFetchResult } from './safe-fetch-port.ts'
export { type Secret, secret } from './secret.ts'
export { readServerSentEvents } from './sse.ts'
export { rejectWhenAborted, settleWithin, sleep, withTimeout } from './time.ts'
