// Budgets that a run shares with the agents it asks: each of them spends from the same total.
import type { SharedBudgets } from './budget.ts'
import type { LoopOptions } from './options.ts'
import type { RunState } from './run-state.ts'

/** The budgets a developer declared; how often one model may be asked without any is its own affair. */
export function shareBudgets(state: RunState, options: LoopOptions, countTime: () => void): SharedBudgets {
  const declared = new Set((options.budgets ?? []).map(({ name }) => name))
  const declaredBudget = (name: string) => (declared.has(name) ? state.budgets.get(name) : undefined)
  return {
    spend(name, by) {
      if (name === 'tokens') state.tokensElsewhere += by
      const budget = declaredBudget(name)
      budget?.increment(by)
      const above = state.within?.spend(name, by)
      return budget?.isExceeded() === true ? budget : above
    },
    spent() {
      countTime()
      return [...declared].map(declaredBudget).find((budget) => budget?.isExceeded()) ?? state.within?.spent()
    },
  }
}
