// Every case of addresses, messages, evidence, chains, streams and principals, and where it stands: run as it is written, run with the outcome we
// chose instead, or left out with its reason. identity.test.ts holds this list to the rows that really run.

export const tables = { AD: 10, NM: 18, ID: 6, TR: 9, CH: 4, ST: 5, I: 14 } as const

/** What we do otherwise, with the reason the rows themselves give. */
export const differs: Readonly<Record<string, string>> = {
  'I-10': 'in agents-api an agent administers itself without a grant',
  'ST-03': 'nothing is read after the first done, so nothing is left to audit',
}

export const leftOut: Readonly<Record<string, string>> = {}
