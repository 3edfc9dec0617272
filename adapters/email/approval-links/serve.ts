// Serves approval links in a browser. Looking changes nothing, because programs that check mails follow every link in them;
// pressing decides once (docs/approvals.md).
import {
  type Adapter,
  type ChannelDeps,
  type Connection,
  formatAddress,
  type InboundMessage,
  mintEvidence,
  parseAddress,
  type Sender,
  type Sentence,
  type ServeContext,
  type TtlStore,
  textPart,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { GatewayError, readBody } from '../../../src/lib/index.ts'
import { escapeHtml } from '../../../src/markdown/index.ts'
import type { EmailSay } from '../sentences.ts'
import { mailtoSubjectOfAddress } from '../wire/address.ts'
import {
  type Decision,
  type DecisionNote,
  decisionPath,
  type FoundLink,
  findDecisionLink,
  markLinkUsed,
} from './links.ts'

export type DecisionDeps = Pick<ChannelDeps, 'connection' | 'now'> & {
  readonly ttlStore: TtlStore
  readonly say: EmailSay
}

const maxFormBytes = 4096

const problemStatus = { unknown: 404, expired: 410, malformed: 400, refused: 409 } as const

function linkProblemMessage(say: EmailSay, problem: keyof typeof problemStatus): PageMessage {
  const title = say(`email.link_${problem}`)
  return { status: problemStatus[problem], title, words: say(`email.link_${problem}_remedy`) }
}

/** Both methods, whatever stands behind the last slash. */
export function decisionEndpoints({ connection }: Pick<DecisionDeps, 'connection'>): Adapter['endpoints'] {
  return [{ path: `${decisionPath(connection.id)}/:token`, answer: 'serve' }]
}

/** Undefined: it is another address. */
export function createDecisionLinkHandler(
  deps: DecisionDeps,
): (request: Request, context: ServeContext) => Promise<Response | undefined> {
  const prefix = `${decisionPath(deps.connection.id)}/`
  return async (request, context) => {
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith(prefix)) return undefined
    const token = pathname.slice(prefix.length)
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return decisionLinkPage(deps.say, await findDecisionLink(deps.ttlStore, token, deps.now()), token)
      case 'POST':
        return acceptSubmittedDecision(deps, context, request, token)
      default:
        return new Response(null, { status: 405, headers: { allow: 'GET, HEAD, POST' } })
    }
  }
}

function decisionLinkPage(say: EmailSay, link: FoundLink, token: string): Response {
  if (link.kind === 'used') return messagePage(alreadyDecidedMessage(say, link.decision))
  if (link.kind !== 'open') return messagePage(linkProblemMessage(say, link.kind))
  const { by, summary, address, code, expires_at } = link.note
  const until =
    expires_at === null ? say('email.link_until_decided') : `${expires_at.slice(0, 16).replace('T', ' ')} UTC`
  return decisionFormPage(say, { by, summary, who: address, code, until, token })
}

async function acceptSubmittedDecision(
  deps: DecisionDeps,
  context: ServeContext,
  request: Request,
  token: string,
): Promise<Response> {
  const decision = await readDecisionForm(request, token)
  if (decision === undefined) return messagePage(linkProblemMessage(deps.say, 'malformed'))
  const link = await findDecisionLink(deps.ttlStore, token, deps.now())
  if (link.kind !== 'open') return decisionLinkPage(deps.say, link, token)
  const { key, note } = link
  const { receivedAt } = context
  const message = decisionToInboundMessage({ decision, key, note, receivedAt, connection: deps.connection })
  const [acceptance] = await context.accept([message])
  if (acceptance === undefined) throw new GatewayError('storage_unavailable', '[email] the decision was not stored')
  if (acceptance.kind === 'refused' || acceptance.kind === 'stale')
    return messagePage(linkProblemMessage(deps.say, 'refused'))
  // Stored first: if the process ends here, pressing again finds the same message and decides nothing else.
  if (acceptance.kind === 'accepted') await markLinkUsed(deps.ttlStore, key, decision, note.address)
  return messagePage(
    acceptance.kind === 'accepted'
      ? decisionTakenMessage(deps.say, decision, note.by)
      : alreadyDecidedMessage(deps.say, 'taken'),
  )
}

async function readDecisionForm(request: Request, token: string): Promise<Decision | undefined> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return undefined
  const bytes = await readBody(request, maxFormBytes)
  if (bytes === undefined) return undefined
  const form = new URLSearchParams(new TextDecoder().decode(bytes))
  const decision = form.get('decision')
  if (form.get('token') !== token) return undefined
  return decision === 'approve' || decision === 'reject' ? decision : undefined
}

function decisionTakenMessage(say: EmailSay, decision: Decision, by: string): PageMessage {
  const title = say(decision === 'approve' ? 'email.link_approved' : 'email.link_rejected')
  return { status: 200, title, words: say('email.link_decided', { agent: by }) }
}

function alreadyDecidedMessage(say: EmailSay, decision: string): PageMessage {
  const what = decision === 'approve' ? 'approved' : decision === 'reject' ? 'rejected' : 'decided'
  return { status: 410, title: say(`email.link_${what}_before`), words: say('email.link_works_once') }
}

// A pressed button is the command it stands for: from the person the link was sent to, proven by having it. Pure.

export type PressedDecision = {
  readonly decision: Decision
  /** The hash of the link's token: one link, one message, whatever is pressed how often. */
  readonly key: string
  readonly note: DecisionNote
  readonly receivedAt: string
  readonly connection: Connection
}

function decisionToInboundMessage({ decision, key, note, receivedAt, connection }: PressedDecision): InboundMessage {
  const subject = mailtoSubjectOfAddress(note.address)
  const recipient = formatAddress({ local: note.agent, domain: connection.domain })
  const id = `decide:${key}`
  return {
    kind: 'message',
    message: {
      id,
      thread_id: note.thread_id,
      sender: decisionSender(note, subject, recipient, { receivedAt, connection }),
      recipient,
      parts: [textPart(`/${decision} ${note.code}`)],
      recipient_capabilities: { mention_relay: { kind: 'recipient-field', fields: ['to', 'cc'] } },
      received_via: 'email',
      received_at: receivedAt,
      raw: { link: key, decision },
      channel: {
        connector_id: connection.id,
        external_provider: 'email',
        external_conversation_id: note.thread_id,
        external_message_id: null,
        sender_id: note.address,
        room_kind: 'dm',
        from_self: false,
        addressed: 'command',
        visibility: 'direct',
        mentions: [],
        event: 'new',
        command: { name: decision, args: note.code },
      },
    },
    agent: note.agent,
    isAddressed: true,
    semanticId: id,
    version: '0',
    isSenderChosenId: false,
    // Approve and reject pressed at once are one message: the first that is stored.
    isOnceById: true,
    deliveryId: id,
    subject,
    // The link is ours and stands for a mail in this thread.
    thread: { candidates: [`t:${note.thread}`], platformVerified: true, newThreadKey: `t:${note.thread}` },
    replyTo: note.reply_to,
    mustReplyIndividually: 'click',
  }
}

function decisionSender(
  { address, name }: DecisionNote,
  subject: string,
  recipient: string,
  { receivedAt, connection }: Pick<PressedDecision, 'receivedAt' | 'connection'>,
): Sender {
  const parsed = parseAddress(address) ?? { local: 'unverified', domain: connection.domain }
  const evidence = mintEvidence({
    subject,
    issuer: connection.domain,
    method: 'urn:gw:auth:email-link:v0.1',
    // A link can be passed on, so it never proves more than the mail it answers did.
    assurance: 'domain',
    recipient,
    issuedAt: receivedAt,
  })
  return verifiedSender([evidence], {
    address: formatAddress(parsed),
    ...(name === '' ? {} : { display_name: name }),
    auth_method: 'email-link',
  })
}

// The pages are small, readable without scripts, loading nothing: what a person is asked, until when, and two buttons.

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow, noarchive',
  'cache-control': 'no-store',
}

const style = `:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5b616a;--page:#f4f5f7;--card:#fff;--line:#dfe2e7;--yes:#17683a;--no:#9c2b25}
@media(prefers-color-scheme:dark){:root{--ink:#eceef1;--soft:#a4abb5;--page:#121417;--card:#1c1f24;--line:#333841;--yes:#2f9e5c;--no:#d9655d}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{width:100%;max-width:32rem;background:var(--card);border:1px solid var(--line);border-radius:16px;padding:2rem 2rem 1.75rem;box-shadow:0 1px 2px rgb(0 0 0/.05),0 12px 32px -12px rgb(0 0 0/.15)}
.from{margin:0 0 .35rem;color:var(--soft);font-size:.925rem}h1{margin:0 0 1.25rem;font-size:1.4rem;line-height:1.3;letter-spacing:-.01em;text-wrap:balance}
blockquote{margin:0 0 1.5rem;padding:1rem 1.15rem;border-radius:10px;background:var(--page);border:1px solid var(--line);font-size:1.125rem;overflow-wrap:anywhere;white-space:pre-wrap}
dl{display:grid;grid-template-columns:auto 1fr;gap:.35rem 1.25rem;margin:0 0 1.75rem;font-size:.925rem}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
form{display:grid;grid-template-columns:1fr 1fr;gap:.75rem;margin:0}button{font:inherit;font-weight:600;min-height:3rem;border-radius:10px;border:1.5px solid;cursor:pointer}
.yes{background:var(--yes);border-color:var(--yes);color:#fff}.no{background:transparent;border-color:var(--no);color:var(--no)}
@media(prefers-color-scheme:dark){.yes{color:#06140b}}
button:hover{filter:brightness(1.08)}button:focus-visible{outline:3px solid var(--ink);outline-offset:2px}
.note{margin:1.5rem 0 0;padding-top:1.1rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}.words{margin:0;color:var(--soft)}
@media(max-width:26rem){main{padding:1.5rem 1.25rem}form{grid-template-columns:1fr}}`

export type Question = {
  /** The agent that asks. */
  readonly by: string
  readonly summary: string
  /** Whose decision it is: the address the link was sent to. */
  readonly who: string
  readonly code: string
  readonly until: string
  readonly token: string
}

function decisionFormPage(say: EmailSay, { by, summary, who, code, until, token }: Question): Response {
  const asked = escapeHtml(summary === '' ? say('email.link_request', { code }) : summary)
  const facts = [
    [say('email.link_decider'), who],
    [say('email.link_until'), until],
    [say('email.link_code'), code],
  ] as const
  const title = say('email.link_asks', { agent: by })
  return renderDecisionPage(200, title, [
    `<p class="from">${escapeHtml(title)}</p>`,
    `<h1>${escapeHtml(say('email.link_question'))}</h1>`,
    `<blockquote>${asked}</blockquote>`,
    `<dl>${facts.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>`,
    `<form method="post"><input type="hidden" name="token" value="${escapeHtml(token)}">`,
    `<button class="yes" name="decision" value="approve">${escapeHtml(say('approval.approve'))}</button>`,
    `<button class="no" name="decision" value="reject">${escapeHtml(say('approval.reject'))}</button></form>`,
    `<p class="note">${escapeHtml(say('email.link_explained'))}</p>`,
  ])
}

type PageMessage = { readonly status: number; readonly title: Sentence; readonly words: Sentence }

function messagePage({ status, title, words }: PageMessage): Response {
  return renderDecisionPage(status, title, [
    `<h1>${escapeHtml(title)}</h1>`,
    `<p class="words">${escapeHtml(words)}</p>`,
  ])
}

function renderDecisionPage(status: number, title: string, body: readonly string[]): Response {
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main>
${body.join('\n')}
</main></body>
</html>
`
  return new Response(html, { status, headers: pageHeaders })
}
