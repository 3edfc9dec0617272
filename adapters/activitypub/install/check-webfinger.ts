// Checks that a handle leads to an actor and the actor back to the handle: servers drop actors that do not loop.
import { checkResult, displayValue, type Finding, failedCheck, passedCheck } from './finding.ts'
import { describeResponse, type Fields, jrdJson, type ProbeFetch, type ProbeResponse } from './look.ts'

export type Handle = { readonly user: string; readonly host: string }
export type WebFinger = { readonly findings: readonly Finding[]; readonly actor: string | undefined }

const activityTypes = /^application\/(?:activity\+json|ld\+json\s*;.*activitystreams)/i
const proxy = 'let the proxy pass /.well-known/webfinger on to the gateway'

export async function checkWebFinger(look: ProbeFetch, { user, host }: Handle): Promise<WebFinger> {
  const subject = `acct:${user}@${host}`
  const looked = await look(webFingerUrl(host, subject), jrdJson)
  if (looked.status !== 200 || looked.json === undefined)
    return { findings: [failedCheck('webfinger', describeResponse(looked), remedyFor(looked))], actor: undefined }
  const { json } = looked
  const actor = webFingerSelfLink(json)
  const isNamed = String(json['subject']).toLowerCase() === subject.toLowerCase()
  return {
    actor,
    findings: [
      passedCheck('webfinger', describeResponse(looked)),
      checkResult(
        'webfinger type',
        looked.type === jrdJson,
        looked.type,
        `answer with ${jrdJson}: some servers read nothing else`,
      ),
      checkResult(
        'subject',
        isNamed,
        displayValue(json['subject']),
        `make it ${subject}, or check the handle it names`,
      ),
      actor === undefined
        ? failedCheck('self link', 'none', 'list a link of rel self with type application/activity+json')
        : checkResult(
            'self link',
            actor.startsWith('https:'),
            displayValue(actor),
            'set PARLEY_PUBLIC_URL to an https address',
          ),
    ],
  }
}

/** The actor's own address is asked for, too: by servers that met the actor first. */
export async function checkLoop(look: ProbeFetch, { user, host }: Handle, actor: string): Promise<Finding> {
  const { json, ...looked } = await look(webFingerUrl(new URL(actor).host, actor), jrdJson)
  const isSame = String(json?.['subject']).toLowerCase() === `acct:${user}@${host}`.toLowerCase()
  const said = json === undefined ? describeResponse({ json, ...looked }) : displayValue(json['subject'])
  return checkResult('way back', isSame, said, `answer the actor’s address with the subject acct:${user}@${host}`)
}

export function webFingerUrl(host: string, resource: string): string {
  return `https://${host}/.well-known/webfinger?resource=${encodeURIComponent(resource)}`
}

function remedyFor({ status }: ProbeResponse): string {
  if (status === undefined) return 'make the host reachable by https from outside, with a certificate others trust'
  if (status === 404) return `check the name of the agent, and ${proxy}`
  return proxy
}

export function webFingerSelfLink({ links }: Fields): string | undefined {
  for (const link of Array.isArray(links) ? links : []) {
    if (typeof link !== 'object' || link === null) continue
    const { rel, type, href } = link as Fields
    const isSelf = rel === 'self' && typeof type === 'string' && activityTypes.test(type)
    if (isSelf && typeof href === 'string' && URL.canParse(href)) return href
  }
  return undefined
}
