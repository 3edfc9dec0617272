// Checks that the instance is found as an account: servers that want signed requests look for the account of the signer.
import { fieldsOrEmpty } from './check-actor.ts'
import { webFingerSelfLink, webFingerUrl } from './check-webfinger.ts'
import { displayValue, type Finding, failedCheck, passedCheck } from './finding.ts'
import { activityJson, describeResponse, jrdJson, type ProbeFetch } from './look.ts'

const check = 'instance'

/** `actor`: of an agent; the instance is at the same host. */
export async function checkInstance(look: ProbeFetch, actor: string): Promise<Finding> {
  const { host, hostname } = new URL(actor)
  const subject = `acct:${hostname}@${hostname}`
  const found = await look(webFingerUrl(host, subject), jrdJson)
  const self = found.json === undefined ? undefined : webFingerSelfLink(found.json)
  if (found.status !== 200 || self === undefined)
    return failedCheck(
      check,
      `${subject}: ${describeResponse(found)}`,
      'answer WebFinger for it with a self link to the instance: servers in secure mode refuse what it asks',
    )
  if (String(found.json?.['subject']).toLowerCase() !== subject)
    return failedCheck(check, `${subject}: ${displayValue(found.json?.['subject'])}`, `make its subject ${subject}`)
  const { json, ...looked } = await look(self, activityJson)
  if (looked.status !== 200 || json === undefined)
    return failedCheck(
      check,
      describeResponse({ json, ...looked }),
      'show its document to every client, also without a signature',
    )
  const { id, preferredUsername, publicKey } = json
  if (id !== self || preferredUsername !== hostname)
    return failedCheck(
      check,
      displayValue(id),
      `its id must be ${displayValue(self)} and its preferredUsername ${hostname}`,
    )
  return typeof fieldsOrEmpty(publicKey)['publicKeyPem'] === 'string'
    ? passedCheck(check, `${displayValue(self)}, found as ${subject}`)
    : failedCheck(check, 'no key', 'list publicKey as one object with id, owner and publicKeyPem')
}
