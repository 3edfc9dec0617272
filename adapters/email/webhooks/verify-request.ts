// Verifies a request of any ingress (webhook, SMTP, IMAP, runtime): from here on there is one pipeline for all of them.
import type { ChannelDeps, RawRequest, RequestHead, VerifyResult } from '../../../src/contract/index.ts'
import type { IngressSettings } from '../config/derive-settings.ts'
import { type IngressResult, type OwnMailRegistry, rejectedRequest } from '../ingress/received.ts'
import { verifyMailgun } from './mailgun.ts'
import { type SnsDeps, verifySes } from './ses.ts'
import { verifyWebhook, webhookHeaders } from './signed-webhook.ts'

export type RequestVerifierDeps = Pick<ChannelDeps, 'hmac' | 'ttlStore' | 'now' | 'fetch' | 'guardedFetch'> & {
  readonly own: OwnMailRegistry
}

/** Never throws: where a store cannot be asked the mail has to come again. */
export function createRequestVerifier(
  settings: IngressSettings,
  deps: RequestVerifierDeps,
): (rawRequest: RawRequest) => Promise<IngressResult> {
  const keys: SnsDeps['keys'] = new Map()
  const means = { ...deps, keys, maxBytes: settings.maxBytes }
  return async (rawRequest) => {
    const own = deps.own.find(rawRequest)
    if (own !== undefined) return own
    try {
      return await verifyByProvider(settings, means, rawRequest)
    } catch {
      return { kind: 'later', reason: 'hop_not_judged' }
    }
  }
}

type Rejected = Extract<VerifyResult<never>, { kind: 'rejected' }>

/** What the headers of a request alone rule out: a way that is closed, a mail without the webhook's signature. */
export function screenRequestHeaders(
  { webhook, ses, mailgun }: IngressSettings,
  { headers }: RequestHead,
): Rejected | undefined {
  const rejectRequestFor = (reason: Rejected['reason']): Rejected => ({ kind: 'rejected', reason })
  const type = requestMediaType(headers)
  if (headers['x-amz-sns-message-type'] !== undefined)
    return ses === undefined ? rejectRequestFor('not_allowed_here') : undefined
  if (isFormType(type)) return mailgun === undefined ? rejectRequestFor('not_allowed_here') : undefined
  if (webhook === undefined) return rejectRequestFor('not_allowed_here')
  if (type !== 'message/rfc822') return rejectRequestFor('malformed_request')
  const { signature, nonce } = webhookHeaders
  return headers[signature] === undefined || headers[nonce] === undefined
    ? rejectRequestFor('missing_credential')
    : undefined
}

function requestMediaType(headers: RawRequest['headers']): string | undefined {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
}

function isFormType(type: string | undefined): boolean {
  return type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded'
}

function verifyByProvider(
  { webhook, ses, mailgun }: IngressSettings,
  deps: RequestVerifierDeps & SnsDeps & { readonly maxBytes: number },
  rawRequest: RawRequest,
): Promise<IngressResult> {
  const type = requestMediaType(rawRequest.headers)
  const closed = Promise.resolve(rejectedRequest('not_allowed_here'))
  if (rawRequest.headers['x-amz-sns-message-type'] !== undefined)
    return ses === undefined ? closed : verifySes(ses, deps, rawRequest)
  if (isFormType(type)) return mailgun === undefined ? closed : verifyMailgun(mailgun.signingKeys, deps, rawRequest)
  if (webhook === undefined) return closed
  if (type !== 'message/rfc822') return Promise.resolve(rejectedRequest('malformed_request'))
  return verifyWebhook(webhook.secrets, deps, rawRequest)
}
