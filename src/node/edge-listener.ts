// The one listener of the Node edge: asks to wait until there is an app, then hands it everything but plain webhooks.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { createApp } from '../api/app.ts'
import type { AppDeps } from '../api/deps.ts'
import type { RequestSource } from '../contract/index.ts'
import { startingResponse } from './busy.ts'
import { createWebhookListener } from './hook-listener.ts'
import type { PublicUrlCheck } from './public-url-check.ts'

export type HttpListener = {
  readonly listener: RequestListener
  /** From now on the gateway answers. */
  readonly open: (deps: AppDeps) => void
}

type Handle = (request: Request, env: object) => Response | Promise<Response>

/** A request may have been refused while its body came in: what the app says afterwards comes too late. */
function unlessAlreadySent(
  response: Response,
  { outgoing }: { readonly outgoing: Pick<ServerResponse, 'headersSent'> },
): Response {
  return outgoing.headersSent ? RESPONSE_ALREADY_SENT : response
}

/** `answerCheck`: true where a request was for the check of the public URL, which is told before there is an app. */
export function createHttpListener(
  sourceOf: (incoming: IncomingMessage) => RequestSource,
  answerCheck: PublicUrlCheck['answer'],
): HttpListener {
  let handle: Handle = startingResponse
  const answer = getRequestListener((request, env) => {
    const response = handle(request, env)
    return response instanceof Promise
      ? response.then((late) => unlessAlreadySent(late, env))
      : unlessAlreadySent(response, env)
  })
  // It answers every failure itself; its promise only tells when it is done.
  const serve: RequestListener = (incoming, outgoing) => void answer(incoming, outgoing)
  let listen = serve
  return {
    listener: (incoming, outgoing) => {
      if (!answerCheck(incoming, outgoing)) listen(incoming, outgoing)
    },
    open(deps) {
      handle = createApp(deps).fetch
      listen = createWebhookListener({ ...deps, sourceOf }, serve)
    },
  }
}
