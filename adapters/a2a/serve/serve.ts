// Everything below this channel's paths: the public documents, and both bindings of every agent.
import type { ServeDoor } from '../../../src/contract/index.ts'
import type { CardReader } from '../discovery/card-desk.ts'
import { type Document, documentMethod, documentResponse, type Serving } from '../discovery/documents.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { failure } from './answer.ts'
import { faultResponse, type Tongue } from './binding.ts'
import type { A2aDeps } from './call.ts'
import { identify } from './enter.ts'
import { type Place, placeOf } from './place.ts'
import { serveRest } from './rest.ts'
import { type Arriving, serveRpc } from './rpc.ts'

export function createServe(deps: A2aDeps): (request: Request, door: ServeDoor) => Promise<Response | undefined> {
  return async (request, door) => {
    const url = new URL(request.url)
    const slugs = deps.agents().map(({ slug }) => slug)
    const place = placeOf(url.pathname, deps.settings.path, slugs)
    const origin = deps.publicUrl ?? url.origin
    try {
      if (place.kind === 'operation') return await serveOperation(deps, { request, door, origin }, place)
      const stranger = await strangerFault(deps, request, door)
      if (stranger !== undefined) return faultResponse(plain(deps, 'rest'), stranger)
      return (
        (await serveDocument(deps, request, place, { origin, isLocal: door.from === 'local' })) ?? nothingThere(deps)
      )
    } catch (error) {
      const isRpc = place.kind === 'operation' && place.segments.length === 0
      return faultResponse(plain(deps, isRpc ? 'rpc' : 'rest'), failure(door, error))
    }
  }
}

type Asked = Pick<Arriving, 'request' | 'door' | 'origin'>

function serveOperation(
  deps: A2aDeps,
  asked: Asked,
  { agent: mount, segments }: Extract<Place, { kind: 'operation' }>,
): Promise<Response> {
  const arriving = { ...asked, mount }
  return segments.length === 0 ? serveRpc(deps, arriving) : serveRest(deps, arriving, segments)
}

/** Undefined: the caller may read it. */
async function strangerFault(deps: A2aDeps, request: Request, door: ServeDoor): Promise<Fault | undefined> {
  if (deps.settings.cards === 'public') return undefined
  const caller = await identify(deps, request, door, undefined)
  return isFault(caller) ? caller : undefined
}

async function serveDocument(
  { settings, cards }: A2aDeps,
  request: Request,
  place: Exclude<Place, { kind: 'operation' }>,
  reader: CardReader,
): Promise<Response | undefined> {
  const { maxAgeSeconds } = settings.card
  const isLegacyOn = settings.protocolVersions.includes('0.3')
  const shown = async (read: Promise<Document | undefined>, serving: Serving): Promise<Response | undefined> => {
    const document = await read
    return document === undefined
      ? undefined
      : (documentMethod(request) ?? documentResponse(request, document, serving))
  }
  switch (place.kind) {
    case 'root_card': {
      // Who says 1.0 reads 1.0; who says nothing may be of the version before.
      const isStrict = !isLegacyOn || (request.headers.get('a2a-version') ?? '').trim().startsWith('1.')
      const read = isStrict ? cards.strict({ agent: undefined }, reader) : cards.hybrid({ agent: undefined }, reader)
      return shown(read, { maxAgeSeconds, ...(isLegacyOn ? { vary: 'A2A-Version' } : {}) })
    }
    case 'early_card':
      return isLegacyOn ? shown(cards.hybrid({ agent: undefined }, reader), { maxAgeSeconds }) : undefined
    case 'address_card':
      return shown(cards.address(place.slug, reader), { maxAgeSeconds })
    case 'card':
      return shown(cards.strict({ agent: place.agent }, reader), { maxAgeSeconds })
    case 'keys':
      return shown(cards.keys(), { maxAgeSeconds })
    case 'nothing':
      return undefined
    default:
      return place satisfies never
  }
}

function nothingThere(deps: A2aDeps): Response {
  return faultResponse(plain(deps, 'rest'), fault('not_found', 'there is nothing at this path'))
}

function plain({ settings }: A2aDeps, form: Tongue['form']): Tongue {
  return { dialect: '1.0', form, table: settings.errorTable, id: null, mediaType: 'application/json' }
}
