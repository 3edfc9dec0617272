// The HTTP+JSON binding: paths with verbs behind a colon, members in the query or the body.
import { answerType } from '../verify/media-type.ts'
import { readVersion } from '../verify/version.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { type Fields, hasMember, memberOf } from '../wire/fields.ts'
import { fromLegacy } from '../wire/legacy/requests.ts'
import { type Dialect, matchRest, type RestMatch } from '../wire/operations.ts'
import { answer } from './answer.ts'
import { faultResponse, type Tongue } from './binding.ts'
import { type A2aDeps, invalidParams } from './call.ts'
import { identify } from './enter.ts'
import { mediaTypeFault, readJson } from './read-json.ts'
import type { Arriving } from './rpc.ts'

export async function serveRest(
  deps: A2aDeps,
  { request, door, mount, origin }: Arriving,
  segments: readonly string[],
): Promise<Response> {
  const { settings } = deps
  const { headers } = request
  const mediaType = answerType(headers.get('content-type') ?? undefined, headers.get('accept') ?? undefined)
  const version = readVersion(request, settings.protocolVersions)
  const dialect = typeof version === 'string' ? version : '1.0'
  const tongue: Tongue = { dialect, form: 'rest', table: settings.errorTable, id: null, mediaType }
  const match = matchPath(request.method, segments, dialect)
  if (match.kind !== 'found')
    return faultResponse(tongue, typeof version === 'string' ? unmatched(match, segments, dialect) : version)
  // What a verb is asked of a task needs no body, and then no type of one.
  const foreign = hasBody(request) ? mediaTypeFault(headers, match.params['id'] !== undefined) : undefined
  if (foreign !== undefined) return faultResponse(tongue, foreign)
  const caller = await identify(deps, request, door, mount)
  if (isFault(caller)) return faultResponse(tongue, caller)
  const body = hasBody(request) ? await readJson(request, settings.maxBodyBytes) : queryOf(request)
  if (isFault(body)) return faultResponse(tongue, body)
  if (typeof version !== 'string') return faultResponse(tongue, version)
  const params = joined(body, match.params)
  if (isFault(params)) return faultResponse(tongue, params)
  const { name, tenant } = match
  const blocksByDefault = settings.legacyBlocking
  const read = dialect === '1.0' ? params : fromLegacy(name, params, { form: 'rest', blocksByDefault })
  return answer(deps, { request, door, caller, mount, tenant, dialect, origin }, tongue, { name, params: read })
}

type Matched =
  | Exclude<RestMatch, { kind: 'found' }>
  | (Extract<RestMatch, { kind: 'found' }> & { readonly tenant: string | undefined })

/** 0.3 stands below /v1; 1.0 may have one segment for a tenant before it. */
function matchPath(method: string, segments: readonly string[], dialect: Dialect): Matched {
  if (dialect === '0.3') {
    const match = segments[0] === 'v1' ? matchRest(method, segments.slice(1), dialect) : { kind: 'nothing' as const }
    return match.kind === 'found' ? { ...match, tenant: undefined } : match
  }
  const plain = matchRest(method, segments, dialect)
  if (plain.kind === 'found') return { ...plain, tenant: undefined }
  const [tenant, ...below] = segments
  // The path segment of the older version is never a tenant.
  const tenanted = tenant === 'v1' ? { kind: 'nothing' as const } : matchRest(method, below, dialect)
  if (tenanted.kind === 'found') return { ...tenanted, tenant }
  return plain.kind === 'nothing' ? tenanted : plain
}

function unmatched(match: Exclude<Matched, { kind: 'found' }>, segments: readonly string[], dialect: Dialect): Fault {
  if (match.kind === 'other_method')
    return fault('method_not_allowed', `this path is asked by ${match.allow.join(' or ')}`, {
      headers: { allow: [...new Set(match.allow)].join(', ') },
    })
  const isOfOther = dialect === '0.3' ? segments[0] !== 'v1' : segments[0] === 'v1'
  const advice = isOfOther
    ? `; paths ${dialect === '0.3' ? 'without /v1 need A2A-Version: 1.0' : 'below /v1 are of 0.3'}`
    : ''
  return fault('not_found', `there is nothing at this path in version ${dialect}${advice}`)
}

function hasBody({ method }: Request): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

/** Values as text, which is how their readers take them; a name that comes twice is a list. */
function queryOf(request: Request): Fields {
  const { searchParams } = new URL(request.url)
  const params: Record<string, unknown> = {}
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name)
    params[name] = values.length === 1 ? values[0] : values
  }
  return params
}

/** The path names the task; a body that names another means something else than it says. */
function joined(body: Fields, path: Readonly<Record<string, string>>): Fields | Fault {
  for (const [name, value] of Object.entries(path)) {
    const given = hasMember(body, name) ? memberOf(body, name) : undefined
    if (given !== undefined && given !== null && given !== '' && given !== value)
      return invalidParams([{ field: name, description: 'is another in the path' }])
  }
  return { ...body, ...path }
}
