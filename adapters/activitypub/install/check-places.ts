// Checks that what an actor's document points at is there: inboxes that want a signature, collections, a page, facts about the server.
import { fieldsOrEmpty } from './check-actor.ts'
import { checkResult, displayValue, type Finding, failedCheck, passedCheck } from './finding.ts'
import { activityJson, describeResponse, type Fields, type ProbeFetch } from './look.ts'

export async function checkInbox(look: ProbeFetch, name: string, actor: string, address: unknown): Promise<Finding> {
  if (typeof address !== 'string' || !URL.canParse(address))
    return failedCheck(name, 'none', `list ${name} in the actor’s document`)
  if (new URL(address).origin !== new URL(actor).origin)
    return failedCheck(name, displayValue(address), 'it must be on the same origin as the actor')
  // It is not signed: an inbox that takes it takes anything.
  const looked = await look(address, activityJson, '{}')
  if (looked.status !== undefined && looked.status >= 200 && looked.status < 300)
    return failedCheck(
      name,
      `${describeResponse(looked)} for a request without a signature`,
      'it must refuse what is not signed',
    )
  const isReached = looked.status === 401 || looked.status === 403 || looked.status === 400
  const remedy = 'let the proxy pass POST on to the gateway, with the Host header as it came'
  return checkResult(
    name,
    isReached,
    isReached ? `${describeResponse(looked)}: it wants a signature` : describeResponse(looked),
    remedy,
  )
}

export async function checkCollection(look: ProbeFetch, name: string, address: unknown): Promise<Finding> {
  if (typeof address !== 'string' || !URL.canParse(address))
    return failedCheck(name, 'none', `list ${name} in the actor’s document`)
  const looked = await look(address, activityJson)
  const type = looked.json?.['type']
  const isThere = looked.status === 200 && (type === 'OrderedCollection' || type === 'Collection')
  return checkResult(
    name,
    isThere,
    isThere ? displayValue(type) : describeResponse(looked),
    'it must answer with an OrderedCollection',
  )
}

export async function checkPage(look: ProbeFetch, actor: string): Promise<Finding> {
  const looked = await look(actor, 'text/html')
  return checkResult(
    'page',
    looked.status === 200 && looked.type === 'text/html',
    describeResponse(looked),
    'show browsers a page there',
  )
}

export async function checkNodeInfo(look: ProbeFetch, host: string): Promise<Finding> {
  const index = await look(`https://${host}/.well-known/nodeinfo`, 'application/json')
  const links = index.json?.['links']
  const link = (Array.isArray(links) ? links : [])
    .map(fieldsOrEmpty)
    .find(({ rel }) => /nodeinfo\.diaspora\.software\/ns\/schema\/2\.[01]$/.test(String(rel)))
  const href = link?.['href']
  if (typeof href !== 'string' || !URL.canParse(href))
    return failedCheck(
      'nodeinfo',
      describeResponse(index),
      'let the proxy pass /.well-known/nodeinfo on to the gateway',
    )
  const looked = await look(href, 'application/json')
  const said = looked.json === undefined ? undefined : nodeInfoFault(looked.json)
  if (looked.status !== 200 || looked.json === undefined)
    return failedCheck('nodeinfo', describeResponse(looked), 'let the proxy pass /nodeinfo/ on')
  const name = displayValue(fieldsOrEmpty(looked.json['software'])['name'])
  return said === undefined
    ? passedCheck('nodeinfo', `${displayValue(looked.json['version'])}, ${name}`)
    : failedCheck('nodeinfo', said, 'follow the schema of NodeInfo')
}

function nodeInfoFault({ version, software, protocols }: Fields): string | undefined {
  if (version !== '2.0' && version !== '2.1') return 'its version is none'
  if (!/^[a-z0-9-]+$/.test(String(fieldsOrEmpty(software)['name']))) return 'the name of its software is none'
  return Array.isArray(protocols) && protocols.includes('activitypub') ? undefined : 'it does not speak activitypub'
}
