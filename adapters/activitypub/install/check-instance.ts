// Checks that the instance is found as an account: servers that want signed requests look for the account of the signer.
import { fieldsOf } from './check-actor.ts'
import { selfIn, webFingerUrl } from './check-webfinger.ts'
import { type Finding, fine, shown, wrong } from './finding.ts'
import { activityJson, jrdJson, type Look, saidBy } from './look.ts'

const check = 'instance'

/** `actor`: of an agent; the instance is at the same host. */
export async function checkInstance(look: Look, actor: string): Promise<Finding> {
  const { host, hostname } = new URL(actor)
  const subject = `acct:${hostname}@${hostname}`
  const found = await look(webFingerUrl(host, subject), jrdJson)
  const self = found.json === undefined ? undefined : selfIn(found.json)
  if (found.status !== 200 || self === undefined)
    return wrong(
      check,
      `${subject}: ${saidBy(found)}`,
      'answer WebFinger for it with a self link to the instance: servers in secure mode refuse what it asks',
    )
  if (String(found.json?.['subject']).toLowerCase() !== subject)
    return wrong(check, `${subject}: ${shown(found.json?.['subject'])}`, `make its subject ${subject}`)
  const { json, ...looked } = await look(self, activityJson)
  if (looked.status !== 200 || json === undefined)
    return wrong(check, saidBy({ json, ...looked }), 'show its document to every client, also without a signature')
  const { id, preferredUsername, publicKey } = json
  if (id !== self || preferredUsername !== hostname)
    return wrong(check, shown(id), `its id must be ${shown(self)} and its preferredUsername ${hostname}`)
  return typeof fieldsOf(publicKey)['publicKeyPem'] === 'string'
    ? fine(check, `${shown(self)}, found as ${subject}`)
    : wrong(check, 'no key', 'list publicKey as one object with id, owner and publicKeyPem')
}
