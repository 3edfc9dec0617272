// Verifies requests: the secret we gave Telegram with setWebhook must come back in its header. Not a byte of the body is read
// before.
import type { RawRequest, RequestHead, VerifyResult } from '../../src/contract/index.ts'
import { equalInConstantTime, type Secret } from '../../src/lib/index.ts'

export const secretHeader = 'x-telegram-bot-api-secret-token'

/** Telegram signs nothing: the header authenticates the delivery, so the payload stays bytes until it is right. */
export function verifyTelegram(secrets: readonly Secret[], rawRequest: RawRequest): VerifyResult<Uint8Array> {
  return rejectWrongSecretHeader(secrets, rawRequest) ?? { kind: 'genuine', payload: rawRequest.bytes }
}

export function rejectWrongSecretHeader(
  secrets: readonly Secret[],
  { headers }: RequestHead,
): Extract<VerifyResult<never>, { kind: 'rejected' }> | undefined {
  const given = headers[secretHeader]
  if (given === undefined || given === '') return { kind: 'rejected', reason: 'missing_credential' }
  let isRight = false
  // Every secret is compared, so that the time does not tell which of two was nearly right.
  for (const expected of secrets) isRight = equalInConstantTime(given, expected.reveal()) || isRight
  return isRight ? undefined : { kind: 'rejected', reason: 'wrong_credential' }
}
