// Security schemes of an agent card: in 1.0 by the name of the member, in 0.3 by a type.
import type { JsonObject } from '../../../src/lib/index.ts'

type Flow = {
  readonly tokenUrl: string
  readonly authorizationUrl?: string
  readonly deviceAuthorizationUrl?: string
  readonly scopes: Readonly<Record<string, string>>
}

/** One way, by the name it has in a card. */
export type SchemeFacts = { readonly name: string; readonly description?: string } & (
  | { readonly kind: 'http'; readonly scheme: string; readonly format?: string }
  | { readonly kind: 'apiKey'; readonly location: 'header' | 'query' | 'cookie'; readonly parameter: string }
  | {
      readonly kind: 'oauth2'
      readonly flow: 'authorizationCode' | 'clientCredentials' | 'deviceCode'
      readonly terms: Flow
      readonly metadataUrl?: string
    }
  | { readonly kind: 'openIdConnect'; readonly url: string }
  | { readonly kind: 'mtls' }
)

/** What this gateway enforces: a token, its own or of an issuer it trusts. */
export const gatewayTokens: SchemeFacts = {
  kind: 'http',
  name: 'bearer',
  scheme: 'Bearer',
  description: 'A token of this gateway, or of an issuer it names at /.well-known/oauth-protected-resource',
}

/** The same tokens, for callers that only know API keys. */
export function gatewayKeyScheme(parameter: string): SchemeFacts {
  return { kind: 'apiKey', name: 'apiKey', location: 'header', parameter, description: 'A token of this gateway' }
}

export function securitySchemes(schemes: readonly SchemeFacts[]): JsonObject {
  return Object.fromEntries(schemes.map((each) => [each.name, renderScheme(each)]))
}

/** Any one of them is enough. */
export function securityRequirements(schemes: readonly SchemeFacts[]): readonly JsonObject[] {
  return schemes.map(({ name }) => ({ schemes: { [name]: { list: [] } } }))
}

export function legacySecurity(schemes: readonly SchemeFacts[]): readonly JsonObject[] {
  return schemes.map(({ name }) => ({ [name]: [] }))
}

/** Both readings in one object: neither version minds the members of the other. */
export function bothVersionsSchemes(schemes: readonly SchemeFacts[]): JsonObject {
  return Object.fromEntries(schemes.map((each) => [each.name, { ...legacyScheme(each), ...renderScheme(each) }]))
}

export function legacySchemes(schemes: readonly SchemeFacts[]): JsonObject {
  return Object.fromEntries(schemes.map((each) => [each.name, legacyScheme(each)]))
}

function renderScheme(facts: SchemeFacts): JsonObject {
  const about = facts.description === undefined ? {} : { description: facts.description }
  switch (facts.kind) {
    case 'http':
      return {
        httpAuthSecurityScheme: {
          ...about,
          scheme: facts.scheme,
          ...(facts.format === undefined ? {} : { bearerFormat: facts.format }),
        },
      }
    case 'apiKey':
      return { apiKeySecurityScheme: { ...about, location: facts.location, name: facts.parameter } }
    case 'oauth2':
      return {
        oauth2SecurityScheme: {
          ...about,
          flows: { [facts.flow]: { ...facts.terms } },
          ...(facts.metadataUrl === undefined ? {} : { oauth2MetadataUrl: facts.metadataUrl }),
        },
      }
    case 'openIdConnect':
      return { openIdConnectSecurityScheme: { ...about, openIdConnectUrl: facts.url } }
    case 'mtls':
      return { mtlsSecurityScheme: about }
    default:
      return facts satisfies never
  }
}

function legacyScheme(facts: SchemeFacts): JsonObject {
  const about = facts.description === undefined ? {} : { description: facts.description }
  switch (facts.kind) {
    case 'http': {
      const format = facts.format === undefined ? {} : { bearerFormat: facts.format }
      return { type: 'http', ...about, scheme: facts.scheme, ...format }
    }
    case 'apiKey':
      return { type: 'apiKey', ...about, in: facts.location, name: facts.parameter }
    case 'oauth2':
      return { type: 'oauth2', ...about, flows: { [facts.flow]: { ...facts.terms } } }
    case 'openIdConnect':
      return { type: 'openIdConnect', ...about, openIdConnectUrl: facts.url }
    case 'mtls':
      return { type: 'mutualTLS', ...about }
    default:
      return facts satisfies never
  }
}
