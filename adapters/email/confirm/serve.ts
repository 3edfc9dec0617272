// Decision links in a browser. Looking changes nothing, because programs that check mails follow every link in them; pressing decides
// once (docs/approvals.md).
import {
  type ChannelDeps,
  type Endpoint,
  GatewayError,
  type ServeContext,
  type TtlStore,
} from '../../../src/contract/index.ts'
import { readBody } from '../../../src/lib/index.ts'
import { decisionPath } from '../deliver/links.ts'
import { decisionMessage } from './decision.ts'
import { type Decision, type FoundLink, findDecisionLink, markLinkUsed } from './note.ts'
import { messagePage, type PageMessage, questionPage } from './page.ts'

export type DecisionDeps = Pick<ChannelDeps, 'connection' | 'now'> & { readonly notes: TtlStore }

const maxFormBytes = 4096

const pages = {
  unknown: {
    status: 404,
    title: 'This link is not known',
    words:
      'It may be incomplete, or its question is long over. Look for the whole link in the mail, or answer the mail itself.',
  },
  expired: {
    status: 410,
    title: 'This question is over',
    words: 'There was no decision in time, so nothing was done. You can close this window, or ask again by mail.',
  },
  malformed: {
    status: 400,
    title: 'That could not be read',
    words: 'Nothing was decided. Open the link in the mail again and press one of the buttons.',
  },
  refused: {
    status: 409,
    title: 'That decision cannot be taken here',
    words: 'Nothing was decided. Answer the mail instead.',
  },
} as const satisfies Record<string, PageMessage>

/** Both methods, whatever stands behind the last slash. */
export function decisionEndpoints({ connection }: Pick<DecisionDeps, 'connection'>): readonly Endpoint[] {
  return [{ path: `${decisionPath(connection.id)}/:token`, answer: 'serve' }]
}

/** Undefined: it is another address. */
export function serveDecision(
  deps: DecisionDeps,
): (request: Request, door: ServeContext) => Promise<Response | undefined> {
  const prefix = `${decisionPath(deps.connection.id)}/`
  return async (request, door) => {
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith(prefix)) return undefined
    const token = pathname.slice(prefix.length)
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return showDecisionLink(await findDecisionLink(deps.notes, token, deps.now()), token)
      case 'POST':
        return takeDecision(deps, door, request, token)
      default:
        return new Response(null, { status: 405, headers: { allow: 'GET, HEAD, POST' } })
    }
  }
}

function showDecisionLink(link: FoundLink, token: string): Response {
  if (link.kind === 'used') return messagePage(alreadyDecidedMessage(link.decision))
  if (link.kind !== 'open') return messagePage(pages[link.kind])
  const { by, summary, address, code, expires_at } = link.note
  const until = expires_at === null ? 'it is decided' : `${expires_at.slice(0, 16).replace('T', ' ')} UTC`
  return questionPage({ by, summary, who: address, code, until, token })
}

async function takeDecision(
  deps: DecisionDeps,
  door: ServeContext,
  request: Request,
  token: string,
): Promise<Response> {
  const decision = await readPressedDecision(request, token)
  if (decision === undefined) return messagePage(pages.malformed)
  const link = await findDecisionLink(deps.notes, token, deps.now())
  if (link.kind !== 'open') return showDecisionLink(link, token)
  const { key, note } = link
  const { receivedAt } = door
  const message = decisionMessage({ decision, key, note, receivedAt, connection: deps.connection })
  const [acceptance] = await door.take([message])
  if (acceptance === undefined) throw new GatewayError('storage_unavailable', '[email] the decision was not stored')
  if (acceptance.kind === 'refused' || acceptance.kind === 'stale') return messagePage(pages.refused)
  // Stored first: if the process ends here, pressing again finds the same message and decides nothing else.
  if (acceptance.kind === 'accepted') await markLinkUsed(deps.notes, key, decision, note.address)
  return messagePage(
    acceptance.kind === 'accepted' ? decisionTakenMessage(decision, note.by) : alreadyDecidedMessage('taken'),
  )
}

async function readPressedDecision(request: Request, token: string): Promise<Decision | undefined> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return undefined
  const bytes = await readBody(request, maxFormBytes)
  if (bytes === undefined) return undefined
  const form = new URLSearchParams(new TextDecoder().decode(bytes))
  const decision = form.get('decision')
  if (form.get('token') !== token) return undefined
  return decision === 'approve' || decision === 'reject' ? decision : undefined
}

function decisionTakenMessage(decision: Decision, by: string): PageMessage {
  const what = decision === 'approve' ? 'Approved' : 'Rejected'
  return {
    status: 200,
    title: what,
    words: `${by} is told, and you get a mail about what comes of it. You can close this window.`,
  }
}

function alreadyDecidedMessage(decision: string): PageMessage {
  const what = decision === 'approve' ? 'approved' : decision === 'reject' ? 'rejected' : 'decided'
  return { status: 410, title: `This was ${what} already`, words: 'The link works once. You can close this window.' }
}
