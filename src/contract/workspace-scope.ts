// Workspace scopes: a workspace by its kind and its id. The default workspace is the tenant.
import { GatewayError } from '../lib/errors.ts'

export type WorkspaceScope = { readonly workspace_type: string; readonly workspace_id: string }

const typePattern = /^[a-z][a-z0-9_-]*$/

/** The type is a word in lower case; the id is opaque and keeps its case. */
export function readWorkspaceScope(input: unknown): WorkspaceScope {
  const given = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {}
  const type = trimmedStringOrEmpty(given['workspace_type']).toLowerCase()
  if (!typePattern.test(type))
    throw invalidWorkspaceScope('workspace_type must be a word of lower-case letters, digits, _ and -, such as team')
  const id = trimmedStringOrEmpty(given['workspace_id'])
  if (id === '') throw invalidWorkspaceScope('workspace_id must be a non-empty string')
  return { workspace_type: type, workspace_id: id }
}

export function workspaceKey({ workspace_type, workspace_id }: WorkspaceScope): string {
  return `${workspace_type}:${workspace_id}`
}

function trimmedStringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}

function invalidWorkspaceScope(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_workspace_scope: ${reason}`)
}
