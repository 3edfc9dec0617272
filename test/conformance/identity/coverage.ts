// Every case of msg 17.1, 17.2, 17.6, 17.13 and loop 7.7 and where it stands: run as it is written, run with the outcome we
// chose instead, or left out with its reason. identity.test.ts holds this list to the rows that really run.

export const tables = { AD: 10, NM: 18, ID: 6, TR: 9, CH: 4, ST: 5, I: 14 } as const

/** What we do otherwise, with the trap or ruling the rows themselves name. */
export const differs: Readonly<Record<string, string>> = {
  'I-10': 'trap 32',
  'ST-03': 'nothing is read after the first done, so nothing is left to audit',
}

export const leftOut: Readonly<Record<string, string>> = {}
