import { chromium, type Locator, type Page } from 'playwright-core';
import { until } from '../until.ts';

/** Where Debian's package `chromium` puts it. */
export const chromiumPath = '/usr/bin/chromium';

/** Chromium's own walls do not stand where everything runs as root; it visits nothing but servers of these tests. */
export const chromiumArguments = process.getuid?.() === 0 ? ['--no-sandbox'] : [];

export interface StartForm {
  workflowId: string;
  taskQueue: string;
  workflowType: string;
  /** JSON; left empty when absent. */
  input?: string;
}

/** Temporal's web UI as an operator uses it: opens pages and presses buttons. Waits for what it looks for, 30 s at most. */
export interface TemporalUi {
  page: Page;
  /** The list of workflows, filtered by a query; resolves when it shows this one. */
  openList(query: string, workflowId: string): Promise<void>;
  openWorkflow(workflowId: string): Promise<void>;
  /** Shows the current details of the open workflow. */
  openDetails(): Promise<Locator>;
  /** Opens a workflow again and again until its details match: they come with the answer to a query. */
  detailsSay(workflowId: string, pattern: RegExp): Promise<void>;
  /** Opens the dialog of the open workflow, and the list of messages that can be sent, those of the workflow too. */
  openMessages(kind: 'Signal' | 'Update'): Promise<Locator>;
  /** Requests the cancellation of the open workflow, and confirms it. */
  cancelWorkflow(): Promise<void>;
  /** Picks one in that dialog. */
  choose(name: string): Promise<void>;
  /** Types the argument of the message into that dialog, as JSON. */
  fillInput(json: string): Promise<void>;
  /** Presses the button of the dialog that is open, and resolves when it is gone. */
  confirm(button: 'Submit' | 'Trigger'): Promise<void>;
  /** The outcome of the latest update of the workflow that is open, in its history. */
  openUpdateOutcome(): Promise<Locator>;
  openSchedule(scheduleId: string): Promise<void>;
  /** Opens the menu of the open schedule's button. */
  openScheduleMenu(): Promise<void>;
  /** From that menu: opens the dialog. */
  openTrigger(): Promise<void>;
  /** Fills in the form. */
  openStart(form: StartForm): Promise<void>;
  /** Sends it; resolves when the workflow was started. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** @param uiUrl of Temporal's web UI */
export async function openTemporalUi(uiUrl: string, viewport = { width: 1200, height: 800 }): Promise<TemporalUi> {
  const browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
  const page = await browser.newPage({ viewport });
  page.setDefaultTimeout(30_000);
  const open = (path: string) => page.goto(`${uiUrl}/namespaces/default/${path}`, { waitUntil: 'domcontentloaded' });
  const dialog = page.getByRole('dialog').filter({ visible: true });
  const button = (name: string | RegExp, within: Page | Locator = page) =>
    within.getByRole('button', { name }).filter({ visible: true });
  const openWorkflow = async (workflowId: string) => {
    await open(`workflows/${workflowId}`);
    await page.getByRole('heading', { name: workflowId }).waitFor();
  };
  const openDetails = async () => {
    await page.getByRole('tab', { name: 'User Metadata' }).click();
    // What code wrote is shown in a frame of its own, after the summary of the start where there is one.
    const frame = page.locator('iframe').last();
    // Scrolls there, and unlike `scrollIntoViewIfNeeded` looks again when the page has replaced the frame.
    await frame.hover();
    return frame.contentFrame().locator('body');
  };
  return {
    page,
    openWorkflow,
    openDetails,
    async detailsSay(workflowId, pattern) {
      await until(`the details say ${pattern}`, async () => {
        await openWorkflow(workflowId);
        return pattern.test(await (await openDetails()).innerText());
      });
    },
    async openList(query, workflowId) {
      await open(`workflows?${new URLSearchParams({ query })}`);
      // It asks once: what visibility learns later is shown after a press of this.
      const row = page.getByRole('link', { name: workflowId });
      for (;;) {
        const shown = await row.waitFor({ timeout: 3_000 }).then(
          () => true,
          () => false,
        );
        if (shown) return;
        await button('Refresh').click();
      }
    },
    async openMessages(kind) {
      await button('More Actions').click();
      await page.getByRole('menuitem', { name: `Send a${kind === 'Update' ? 'n' : ''} ${kind}` }).click();
      await dialog.locator('button[aria-haspopup]').click();
      const options = dialog.getByRole('listbox');
      // "Custom" is there at once. What the workflow itself offers comes with the answer to a query.
      await options.getByRole('option', { name: 'Custom' }).waitFor();
      await options.getByRole('option').nth(1).waitFor();
      return options;
    },
    async cancelWorkflow() {
      await button('Request Cancellation').click();
      await button('Confirm', dialog).click();
      await dialog.waitFor({ state: 'hidden' });
    },
    async choose(name) {
      await dialog.getByRole('option', { name: new RegExp(`^${name}\\b`) }).click();
    },
    async fillInput(json) {
      await dialog.locator('[contenteditable=true]').filter({ visible: true }).click();
      // Its editor closes every bracket and quotation mark by itself when they are typed.
      await page.keyboard.insertText(json);
      // Left, it lays out anew what it holds, and the button below moves.
      await dialog.getByText('only single JSON payload').click();
      await dialog.locator('.cm-line').nth(1).waitFor();
    },
    async confirm(name) {
      await button(name, dialog).click();
      await dialog.waitFor({ state: 'hidden' });
    },
    async openUpdateOutcome() {
      await page.getByRole('tab', { name: 'Event History' }).click();
      const event = page.getByText('Workflow Execution Update Completed').first();
      await event.click();
      const outcome = page.getByText('Outcome', { exact: true }).last();
      await outcome.scrollIntoViewIfNeeded();
      return outcome.locator('xpath=..');
    },
    async openSchedule(scheduleId) {
      await open(`schedules/${scheduleId}`);
      await button('Schedule Actions').waitFor();
    },
    openScheduleMenu: () => button('Schedule Actions').click(),
    async openTrigger() {
      await page.getByRole('menuitem', { name: 'Trigger' }).click();
      await button('Trigger', dialog).waitFor();
    },
    async openStart({ workflowId, taskQueue, workflowType, input }) {
      await open(`workflows/start-workflow?${new URLSearchParams({ taskQueue, workflowType })}`);
      await page.locator('#workflowId').fill(workflowId);
      if (input === undefined) return;
      await page.locator('[contenteditable=true]').filter({ visible: true }).click();
      // Its editor closes every bracket and quotation mark by itself when they are typed.
      await page.keyboard.insertText(input);
      // Left, it lays out anew what it holds, and the button below moves.
      await page.getByRole('heading', { name: 'Start Workflow' }).click();
    },
    async start() {
      await button('Start Workflow').click();
      await page.getByText('Workflow started successfully').waitFor();
    },
    close: () => browser.close(),
  };
}
