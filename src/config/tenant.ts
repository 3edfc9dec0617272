// The tenant of this gateway. Rows, claims and everything that is shown belong to one tenant; a database may hold several.

const tenantPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Two answers to one question are a problem: guessing would open another tenant's rows. */
export function readTenant(variable: string | undefined, setting: string | undefined, problems: string[]): string {
  const asked = setting ?? variable ?? 'default'
  if (setting !== undefined && variable !== undefined && setting !== variable)
    problems.push('tenant and PARLEY_TENANT name two tenants; remove one of them')
  if (typeof asked !== 'string' || !tenantPattern.test(asked))
    problems.push('tenant (PARLEY_TENANT) must be 1 to 63 small letters, digits and inner hyphens')
  return asked
}
