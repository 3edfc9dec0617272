// Budgets of a run: named counters with a ceiling. The call that reaches the ceiling is still made, the next is not.
export type BudgetLimit = { readonly name: string; readonly ceiling: number; readonly current?: number }

export type Budget = {
  readonly name: string
  readonly ceiling: number
  readonly current: () => number
  readonly increment: (by?: number) => void
  readonly setCurrent: (value: number) => void
  readonly isExceeded: () => boolean
  readonly remaining: () => number
}

export function createBudget(limit: BudgetLimit): Budget {
  const ceiling = Math.max(1, Math.trunc(limit.ceiling))
  let current = Math.max(0, limit.current ?? 0)
  return {
    name: limit.name,
    ceiling,
    current: () => current,
    increment(by = 1) {
      current += Math.max(0, by)
    },
    setCurrent(value) {
      current = Math.max(0, value)
    },
    isExceeded: () => current >= ceiling,
    remaining: () => Math.max(0, ceiling - current),
  }
}

/** The later of two budgets with one name wins. */
export function createBudgets(limits: readonly BudgetLimit[]): ReadonlyMap<string, Budget> {
  return new Map(limits.map((limit) => [limit.name, createBudget(limit)]))
}

/** What a budget counts, as events name it. */
export function budgetDimension(name: string): string {
  if (name === 'wall_clock_seconds') return 'wall_clock'
  return name.startsWith('tool_calls') ? 'tool_calls' : name
}

// A run shares its budgets with the agents it asks: each of them spends from the same total.

/** What a run lets those use whom it asks. Each answers the budget that is used up, if one is. */
export type SharedBudgets = {
  readonly spend: (name: string, by: number) => Budget | undefined
  /** Asked before a turn begins: time passes by itself. */
  readonly spent: () => Budget | undefined
}

/** The run that shares them. */
type SharingRun = {
  readonly budgets: ReadonlyMap<string, Budget>
  /** Those of the run that asked this one. */
  readonly within: SharedBudgets | undefined
  tokensElsewhere: number
}

/** The budgets a developer declared; how often one model may be asked without any is its own affair. */
export function createSharedBudgets(
  state: SharingRun,
  limits: readonly BudgetLimit[],
  countTime: () => void,
): SharedBudgets {
  const declared = new Set(limits.map(({ name }) => name))
  const findDeclaredBudget = (name: string) => (declared.has(name) ? state.budgets.get(name) : undefined)
  return {
    spend(name, by) {
      if (name === 'tokens') state.tokensElsewhere += by
      const budget = findDeclaredBudget(name)
      budget?.increment(by)
      const above = state.within?.spend(name, by)
      return budget?.isExceeded() === true ? budget : above
    },
    spent() {
      countTime()
      return [...declared].map(findDeclaredBudget).find((budget) => budget?.isExceeded()) ?? state.within?.spent()
    },
  }
}
