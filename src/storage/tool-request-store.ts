// Requests for tools that run elsewhere, on SQL.
import type {
  StoredToolRequest,
  ToolRequestLine,
  ToolRequestScope,
  ToolRequestStore,
} from '../agent/runtime-tools/tool-request-store.ts'
import type { JsonObject } from '../contract/index.ts'
import type { Database } from './database.ts'
import {
  answerToolRequest,
  findToolRequest,
  getToolRequest,
  listToolRequests,
  loadToolRequest,
} from './statements/tool-requests.ts'
import { storableJson } from './storable-json.ts'

type Shown = ToolRequestLine & { readonly parameters: JsonObject }

export function createToolRequestStore(database: Database): ToolRequestStore {
  const getToolRequestLine: ToolRequestStore['get'] = async (scope, id) => {
    const [row] = await database.query<Shown>(getToolRequest, [...toolRequestScopeParams(scope), id])
    if (row === undefined) return undefined
    const { parameters, ...request } = row
    return { request, parameters }
  }
  return {
    get: getToolRequestLine,
    list: (scope, { status, limit, before }) =>
      database.query<ToolRequestLine>(listToolRequests, [...toolRequestScopeParams(scope), status, limit, before]),
    async findByCall(scope, toolCallId) {
      return (await database.query<ToolRequestLine>(findToolRequest, [...toolRequestScopeParams(scope), toolCallId]))[0]
    },
    async answer(scope, id, { status, result, isTakenOn = false }, resolver) {
      const params = [id, status, storableJson(result), resolver, database.isShared, !isTakenOn]
      const [row] = await database.query<ToolRequestLine>(answerToolRequest, [
        ...toolRequestScopeParams(scope),
        ...params,
      ])
      if (row !== undefined) return { kind: 'answered', request: row, isDuplicate: false }
      const request = (await getToolRequestLine(scope, id))?.request ?? null
      if (request === null) return { kind: 'refused', reason: 'not_found', request }
      // A result that comes after the time was up is lost to the run; everything else repeats what there is.
      const isLate = request.status !== 'runtime_tool_completed' && status === 'runtime_tool_completed'
      if (isLate || request.status === 'runtime_tool_pending')
        return { kind: 'refused', reason: 'not_pending', request }
      return { kind: 'answered', request, isDuplicate: true }
    },
    async load(tenant, id) {
      return (await database.query<StoredToolRequest>(loadToolRequest, [tenant, id]))[0]
    },
  }
}

function toolRequestScopeParams({
  tenant,
  owner,
  conversationId,
}: ToolRequestScope): [string, string | null, string | null] {
  return [tenant, owner, conversationId]
}
