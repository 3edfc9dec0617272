// The HTTP+JSON binding: paths with verbs behind a colon, members in the query or the body.

import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import { type Fields, getMember, hasMember } from '../protocol/field-reader.ts'
import { upgradeRequest } from '../protocol/legacy.ts'
import { type Dialect, matchRest, type RestMatch } from '../protocol/operations.ts'
import { answerType, readVersion } from '../verify.ts'
import { type A2aDeps, invalidParams } from './call.ts'
import { type BindingRequest, mediaTypeFault, readJsonBody } from './json-rpc.ts'
import { faultResponse, type ResponseFormat } from './responses.ts'
import { answerOperation, identifyCaller } from './run-operation.ts'

export async function serveRest(
  deps: A2aDeps,
  { request, door, mount, origin }: BindingRequest,
  segments: readonly string[],
): Promise<Response> {
  const { settings } = deps
  const { headers } = request
  const mediaType = answerType(headers.get('content-type') ?? undefined, headers.get('accept') ?? undefined)
  const version = readVersion(request, settings.protocolVersions)
  const dialect = typeof version === 'string' ? version : '1.0'
  const tongue: ResponseFormat = { dialect, form: 'rest', table: settings.errorTable, id: null, mediaType }
  const match = matchOperation(request.method, segments, dialect)
  if (match.kind !== 'found')
    return faultResponse(tongue, typeof version === 'string' ? unmatchedPathFault(match, segments, dialect) : version)
  // What a verb is asked of a task needs no body, and then no type of one.
  const foreign = hasBody(request) ? mediaTypeFault(headers, match.params['id'] !== undefined) : undefined
  if (foreign !== undefined) return faultResponse(tongue, foreign)
  const caller = await identifyCaller(deps, request, door, mount)
  if (isA2aFault(caller)) return faultResponse(tongue, caller)
  const body = hasBody(request) ? await readJsonBody(request, settings.maxBodyBytes) : readQuery(request)
  if (isA2aFault(body)) return faultResponse(tongue, body)
  if (typeof version !== 'string') return faultResponse(tongue, version)
  const params = mergePathParams(body, match.params)
  if (isA2aFault(params)) return faultResponse(tongue, params)
  const { name, tenant } = match
  const blocksByDefault = settings.legacyBlocking
  const read = dialect === '1.0' ? params : upgradeRequest(name, params, { form: 'rest', blocksByDefault })
  return answerOperation(deps, { request, door, caller, mount, tenant, dialect, origin }, tongue, {
    name,
    params: read,
  })
}

type Matched =
  | Exclude<RestMatch, { kind: 'found' }>
  | (Extract<RestMatch, { kind: 'found' }> & { readonly tenant: string | undefined })

/** 0.3 stands below /v1; 1.0 may have one segment for a tenant before it. */
function matchOperation(method: string, segments: readonly string[], dialect: Dialect): Matched {
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

function unmatchedPathFault(
  match: Exclude<Matched, { kind: 'found' }>,
  segments: readonly string[],
  dialect: Dialect,
): Fault {
  if (match.kind === 'other_method')
    return createFault('method_not_allowed', `this path is asked by ${match.allow.join(' or ')}`, {
      headers: { allow: [...new Set(match.allow)].join(', ') },
    })
  const isOfOther = dialect === '0.3' ? segments[0] !== 'v1' : segments[0] === 'v1'
  const advice = isOfOther
    ? `; paths ${dialect === '0.3' ? 'without /v1 need A2A-Version: 1.0' : 'below /v1 are of 0.3'}`
    : ''
  return createFault('not_found', `there is nothing at this path in version ${dialect}${advice}`)
}

function hasBody({ method }: Request): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

/** Values as text, which is how their readers take them; a name that comes twice is a list. */
function readQuery(request: Request): Fields {
  const { searchParams } = new URL(request.url)
  const params: Record<string, unknown> = {}
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name)
    params[name] = values.length === 1 ? values[0] : values
  }
  return params
}

/** The path names the task; a body that names another means something else than it says. */
function mergePathParams(body: Fields, path: Readonly<Record<string, string>>): Fields | Fault {
  for (const [name, value] of Object.entries(path)) {
    const given = hasMember(body, name) ? getMember(body, name) : undefined
    if (given !== undefined && given !== null && given !== '' && given !== value)
      return invalidParams([{ field: name, description: 'is another in the path' }])
  }
  return { ...body, ...path }
}
