// Hardware and models that no catalogue has: typed in, based on the nearest one.
#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/own_parts.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/workspace.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/file_choice.hpp"
#include "gui/views/main_window.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/server_browser.hpp"

namespace stepcast {

namespace {

/// A text to edit with what is wrong with it below; `accept` takes it or throws InputError.
class TextDialog : public QDialog {
 public:
  TextDialog(const QString& title, const QString& what, const std::string& text,
             std::function<void(const std::string&)> take, QWidget* parent)
      : QDialog(parent), take_(std::move(take)) {
    setWindowTitle(title);
    resize(680, 640);
    auto* column = new QVBoxLayout(this);
    auto* words = new QLabel(what, this);
    words->setWordWrap(true);
    column->addWidget(words);
    text_ = new QPlainTextEdit(qt(text), this);
    QFont fixed(QStringLiteral("monospace"));
    fixed.setStyleHint(QFont::Monospace);
    text_->setFont(fixed);
    text_->setAccessibleName(title);
    column->addWidget(text_, 1);
    fault_ = new QLabel(this);
    fault_->setObjectName(QStringLiteral("fault"));
    fault_->setWordWrap(true);
    column->addWidget(fault_);
    buttons_ = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    column->addWidget(buttons_);
    connect(buttons_, &QDialogButtonBox::accepted, this, [this] { try_it(); });
    connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
  }
  QDialogButtonBox& buttons() { return *buttons_; }
  /// Shows what `give` reads, or what is wrong with it.
  void read(const std::function<std::string()>& give) {
    try {
      text_->setPlainText(qt(give()));
      fault_->clear();
    } catch (const std::exception& error) {
      fault_->setText(QString::fromUtf8(error.what()));
    }
  }

 private:
  void try_it() {
    try {
      take_(plain(text_->toPlainText()));
      accept();
    } catch (const InputError& error) {
      fault_->setText(QString::fromUtf8(error.what()));
    }
  }

  std::function<void(const std::string&)> take_;
  QPlainTextEdit* text_;
  QLabel* fault_;
  QDialogButtonBox* buttons_;
};

}  // namespace

void MainWindow::describe_own_server(const QString& like) {
  edit_server(own_server_text(workspace_.catalog(), plain(like)), plain(like), {});
}

void MainWindow::edit_own_server(const QString& id) {
  edit_server(workspace_.catalog().show("nodes", plain(id)).dump(2) + "\n", plain(id), plain(id));
}

/// `base`: the entry that the text was; `replaces`: the own one that it takes the place of.
void MainWindow::edit_server(const std::string& text, const std::string& base, const std::string& replaces) {
  const Json before = base.empty() ? Json::object() : workspace_.catalog().show("nodes", base);
  TextDialog dialog(
      tr("Own server"),
      tr("A server of your own, in the catalogue's words: every key is explained in "
         "docs/formats/catalogue.md. It is kept in %1. Figures that you change become estimates, unless you say where "
         "they are from.")
          .arg(qt(Workspace::own_catalog().string())),
      text,
      [&](const std::string& written) {
        const std::string id = id_of_own_part(written);
        workspace_.add_entry("nodes", id, with_own_evidence(before, written), replaces);
        configuration_.set_value("/cluster/node", id);
      },
      this);
  if (dialog.exec() == QDialog::Accepted) show_own_servers();
}

void MainWindow::remove_own_server(const QString& id) {
  const bool sure = !asks_ || QMessageBox::question(this, tr("Own server"),
                                                    tr("Remove %1 from your catalogue?").arg(id)) == QMessageBox::Yes;
  if (!sure) return;
  workspace_.remove_entry("nodes", plain(id));
  show_own_servers();
}

void MainWindow::show_own_servers() {
  hand_out_catalog();
  configure_->rebuild();
  if (auto* servers = findChild<ServerBrowser*>()) servers->reload();
}

void MainWindow::describe_own_model() {
  TextDialog dialog(
      tr("Own model"),
      tr("A model in the words of the presets (docs/models/workload.md), or a config.json of Hugging Face, "
         "from which its shape is read. An ONNX file of any network is counted operator by operator."),
      own_model_text(configuration_.value("/workload/model")),
      [this](const std::string& written) { configuration_.set_value("/workload/model", own_model(written)); }, this);
  QPushButton* read = dialog.buttons().addButton(tr("Read a file …"), QDialogButtonBox::ActionRole);
  connect(read, &QPushButton::clicked, &dialog, [&dialog] {
    const QString file = file_to_open(&dialog, QObject::tr("Model description, config.json or ONNX file"),
                                      QObject::tr("Models (*.json *.onnx)"));
    if (!file.isEmpty()) dialog.read([&] { return own_model_text_of(plain(file)); });
  });
  dialog.exec();
}

}  // namespace stepcast
