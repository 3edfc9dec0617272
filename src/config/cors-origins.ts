// Web pages that may call the API, by origin: a list with commas, or a star for all.

/** What is no origin is a problem, and told. */
export function readCorsOrigins(given: string | undefined, problems: string[]): readonly string[] {
  const origins = (given ?? '').split(',').flatMap((each) => each.trim() || [])
  for (const origin of origins)
    if (origin !== '*' && !isOrigin(origin))
      problems.push(
        'PARLEY_CORS_ORIGINS: every entry must be an origin such as https://app.example.org, without a path, or *',
      )
  if (origins.includes('*') && origins.length > 1)
    problems.push('PARLEY_CORS_ORIGINS: give * or a list of origins, not both')
  return origins
}

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text
}
