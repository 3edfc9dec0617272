// Token issuers for callers: a section of the configuration file, or for one issuer of each kind variables.
import { readTokenIssuers, type TokenIssuerSettings, type TokenIssuers } from '../identity/issuers/token-issuers.ts'
import { splitCommaList } from '../lib/index.ts'

type Variables = Readonly<Record<string, string | undefined>>

const jwtVariables = {
  issuer: 'PARLEY_JWT_ISSUER',
  audience: 'PARLEY_JWT_AUDIENCE',
  jwksUrl: 'PARLEY_JWT_JWKS_URL',
  typ: 'PARLEY_JWT_TYP',
} as const

const introspectionVariables = {
  issuer: 'PARLEY_INTROSPECTION_ISSUER',
  audience: 'PARLEY_INTROSPECTION_AUDIENCE',
  introspectionUrl: 'PARLEY_INTROSPECTION_URL',
  clientId: 'PARLEY_INTROSPECTION_CLIENT_ID',
  clientSecret: 'PARLEY_INTROSPECTION_CLIENT_SECRET',
} as const

export const tokenIssuerVariables = [...Object.values(jwtVariables), ...Object.values(introspectionVariables)]

/** Where `PARLEY_PUBLIC_URL` says what tokens are made out to, no audience is needed. */
const optionalIssuerVariables: readonly string[] = [
  'PARLEY_JWT_AUDIENCE',
  'PARLEY_JWT_JWKS_URL',
  'PARLEY_JWT_TYP',
  'PARLEY_INTROSPECTION_AUDIENCE',
]

/** The file and the environment together; the environment adds an issuer that the file does not name. */
export function readConfiguredTokenIssuers(
  env: Variables,
  file: readonly TokenIssuerSettings[] = [],
  problems: string[],
): TokenIssuers {
  const added = [jwtVariables, introspectionVariables].flatMap((variables) =>
    readIssuerVariables(env, variables, problems),
  )
  return readTokenIssuers([...file, ...added], { hasPublicUrl: env['PARLEY_PUBLIC_URL'] !== undefined, problems })
}

/** Lists are written with commas. */
function readIssuerVariables(
  env: Variables,
  variables: Readonly<Record<string, string>>,
  problems: string[],
): readonly object[] {
  const given = Object.entries(variables).flatMap(([key, name]) => {
    const value = env[name]
    return value === undefined
      ? []
      : [[key, key === 'audience' || key === 'typ' ? splitCommaList(value) : value] as const]
  })
  if (given.length === 0) return []
  const missing = Object.values(variables).filter(
    (name) => env[name] === undefined && !optionalIssuerVariables.includes(name),
  )
  problems.push(...missing.map((name) => `${name} is missing; set it, or unset the other variables of that issuer`))
  return missing.length > 0 ? [] : [Object.fromEntries(given)]
}
