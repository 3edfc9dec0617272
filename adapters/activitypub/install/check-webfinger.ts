// Checks that a handle leads to an actor and the actor back to the handle: servers drop actors that do not loop.
import { type Finding, fine, judged, shown, wrong } from './finding.ts'
import { type Fields, jrdJson, type Look, type Looked, saidBy } from './look.ts'

export type Handle = { readonly user: string; readonly host: string }
export type WebFinger = { readonly findings: readonly Finding[]; readonly actor: string | undefined }

const activityTypes = /^application\/(?:activity\+json|ld\+json\s*;.*activitystreams)/i
const proxy = 'let the proxy pass /.well-known/webfinger on to the gateway'

export async function checkWebFinger(look: Look, { user, host }: Handle): Promise<WebFinger> {
  const subject = `acct:${user}@${host}`
  const looked = await look(webFingerUrl(host, subject), jrdJson)
  if (looked.status !== 200 || looked.json === undefined)
    return { findings: [wrong('webfinger', saidBy(looked), remedyFor(looked))], actor: undefined }
  const { json } = looked
  const actor = selfIn(json)
  const isNamed = String(json['subject']).toLowerCase() === subject.toLowerCase()
  return {
    actor,
    findings: [
      fine('webfinger', saidBy(looked)),
      judged(
        'webfinger type',
        looked.type === jrdJson,
        looked.type,
        `answer with ${jrdJson}: some servers read nothing else`,
      ),
      judged('subject', isNamed, shown(json['subject']), `make it ${subject}, or check the handle it names`),
      actor === undefined
        ? wrong('self link', 'none', 'list a link of rel self with type application/activity+json')
        : judged('self link', actor.startsWith('https:'), shown(actor), 'set PARLEY_PUBLIC_URL to an https address'),
    ],
  }
}

/** The actor's own address is asked for, too: by servers that met the actor first. */
export async function checkLoop(look: Look, { user, host }: Handle, actor: string): Promise<Finding> {
  const { json, ...looked } = await look(webFingerUrl(new URL(actor).host, actor), jrdJson)
  const isSame = String(json?.['subject']).toLowerCase() === `acct:${user}@${host}`.toLowerCase()
  const said = json === undefined ? saidBy({ json, ...looked }) : shown(json['subject'])
  return judged('way back', isSame, said, `answer the actor’s address with the subject acct:${user}@${host}`)
}

export function webFingerUrl(host: string, resource: string): string {
  return `https://${host}/.well-known/webfinger?resource=${encodeURIComponent(resource)}`
}

function remedyFor({ status }: Looked): string {
  if (status === undefined) return 'make the host reachable by https from outside, with a certificate others trust'
  if (status === 404) return `check the name of the agent, and ${proxy}`
  return proxy
}

export function selfIn({ links }: Fields): string | undefined {
  for (const link of Array.isArray(links) ? links : []) {
    if (typeof link !== 'object' || link === null) continue
    const { rel, type, href } = link as Fields
    const isSelf = rel === 'self' && typeof type === 'string' && activityTypes.test(type)
    if (isSelf && typeof href === 'string' && URL.canParse(href)) return href
  }
  return undefined
}
